package starling.client;

/** Close codes of starling.v1. */
public final class CloseCode {
    public static final int ABNORMAL = 1006;
    public static final int BAD_TOKEN = 1008;
    public static final int TOO_BIG = 1009;
    public static final int RESTARTING = 1012;
    public static final int OVERLOADED = 1013;
    public static final int ELSEWHERE = 4001;
    public static final int TOO_SLOW = 4002;
    public static final int TOKEN_EXPIRED = 4003;

    private CloseCode() {}
}
