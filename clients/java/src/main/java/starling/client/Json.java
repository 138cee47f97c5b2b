package starling.client;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as maps, lists, strings, Booleans and null. A whole number is a Long, because user ids go beyond what a double holds; any
 * other number is a Double.
 */
final class Json {
    private static final int DEEPEST = 64;

    private Json() {}

    /** Reads one strict JSON value; throws an IOException if the text is anything else. */
    static Object read(String text) throws IOException {
        try (JsonReader reader = new JsonReader(new StringReader(text))) {
            reader.setStrictness(Strictness.STRICT);
            Object value = readValue(reader, 0);
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new IOException("more than one JSON value");
            }
            return value;
        }
    }

    /** Reads a JSON object; throws an IOException if the text is anything else. */
    static Map<String, Object> readObject(String text) throws IOException {
        Map<String, Object> object = asObject(read(text));
        if (object == null) {
            throw new IOException("not a JSON object");
        }
        return object;
    }

    private static Object readValue(JsonReader reader, int depth) throws IOException {
        if (depth > DEEPEST) {
            throw new IOException("JSON is nested too deeply");
        }
        switch (reader.peek()) {
            case BEGIN_OBJECT:
                Map<String, Object> members = new LinkedHashMap<>();
                reader.beginObject();
                while (reader.hasNext()) {
                    String name = reader.nextName();
                    members.put(name, readValue(reader, depth + 1));
                }
                reader.endObject();
                return members;
            case BEGIN_ARRAY:
                List<Object> items = new ArrayList<>();
                reader.beginArray();
                while (reader.hasNext()) {
                    items.add(readValue(reader, depth + 1));
                }
                reader.endArray();
                return items;
            case STRING:
                return reader.nextString();
            case NUMBER:
                return readNumber(reader.nextString());
            case BOOLEAN:
                return reader.nextBoolean();
            default:
                reader.nextNull();
                return null;
        }
    }

    private static Object readNumber(String digits) {
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException notWhole) {
            return Double.valueOf(digits);
        }
    }

    static String write(Map<String, ?> object) {
        StringWriter text = new StringWriter();
        try (JsonWriter writer = new JsonWriter(text)) {
            writeValue(writer, object);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible); // nothing is written but memory
        }
        return text.toString();
    }

    private static void writeValue(JsonWriter writer, Object value) throws IOException {
        if (value instanceof Map) {
            writer.beginObject();
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                writer.name((String) member.getKey());
                writeValue(writer, member.getValue());
            }
            writer.endObject();
        } else if (value instanceof Iterable) {
            writer.beginArray();
            for (Object item : (Iterable<?>) value) {
                writeValue(writer, item);
            }
            writer.endArray();
        } else if (value instanceof Number) {
            writer.value((Number) value);
        } else if (value instanceof Boolean) {
            writer.value((Boolean) value);
        } else {
            writer.value((String) value);
        }
    }

    /** Makes an object of names and values in turn; members whose value is null are left out. */
    static Map<String, Object> object(Object... namesAndValues) {
        Map<String, Object> members = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            if (namesAndValues[i + 1] != null) {
                members.put((String) namesAndValues[i], namesAndValues[i + 1]);
            }
        }
        return members;
    }

    // members, or what stands for those that are missing or of another type

    /** Returns null if it is no object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> asObject(Object value) {
        return value instanceof Map ? (Map<String, Object>) value : null;
    }

    /** Returns an empty list if it is no list. */
    static List<?> asList(Object value) {
        return value instanceof List ? (List<?>) value : Collections.emptyList();
    }

    static double asDouble(Object value, double otherwise) {
        double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
        return Double.isNaN(number) || Double.isInfinite(number) ? otherwise : number;
    }

    static long asLong(Object value, long otherwise) {
        return value instanceof Long ? (Long) value : (long) asDouble(value, otherwise);
    }

    /** Returns null if it is no text, or an empty one. */
    static String asText(Object value) {
        return value instanceof String && !((String) value).isEmpty() ? (String) value : null;
    }

    /** Returns the texts of a list. */
    static List<String> asTexts(Object value) {
        List<String> texts = new ArrayList<>();
        for (Object item : asList(value)) {
            if (item instanceof String) {
                texts.add((String) item);
            }
        }
        return texts;
    }
}
