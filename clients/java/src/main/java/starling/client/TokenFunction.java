package starling.client;

/**
 * Gets a JWT, whose `sub` is the user, from wherever the application has them. It may wait; it is called on a thread of its own. It is
 * asked for every connection, before a token ends (which renews it on the open connection), and once more when the server refuses one
 * (1008, 4003). If it throws, the attempt counts as failed, and there is another.
 */
public interface TokenFunction {
    String getToken() throws Exception;
}
