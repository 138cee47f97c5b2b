package starling.client;

/** The position that was given is none: the message says which coordinate is out of range. */
public final class InvalidPosition extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    InvalidPosition(String message) {
        super(message);
    }
}
