package starling.client;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import okhttp3.OkHttpClient;

/** Calls StarlingApi for the end-to-end tests; tests/protocol/README.md says how it is spoken to. */
public final class ProtocolDoor {
    private final StarlingApi api;

    private ProtocolDoor(Map<String, Object> options) {
        long patienceMs = options.get("patience_s") == null ? StarlingApi.PATIENCE_MS : (Long) options.get("patience_s") * 1000;
        api = new StarlingApi(new OkHttpClient(), (String) options.get("url"), () -> (String) options.get("token"), patienceMs);
    }

    // to what the Java client takes

    /** The shortest method of that name that takes what is given. */
    private static Method method(String call, List<?> given, Map<String, Object> options) {
        return Arrays.stream(StarlingApi.class.getMethods())
                .filter(method -> method.getName().equals(call) && takes(method.getParameters(), given.size(), options))
                .min(Comparator.comparingInt(Method::getParameterCount))
                .orElseThrow(() -> new IllegalArgumentException("no " + call + " that takes " + given + " and " + options.keySet()));
    }

    private static boolean takes(Parameter[] parameters, int given, Map<String, Object> options) {
        if (parameters.length < given) {
            return false;
        }
        List<Parameter> rest = Arrays.asList(parameters).subList(given, parameters.length);
        return options.keySet().stream().allMatch(name -> rest.stream().anyMatch(
                parameter -> parameter.getType() == CommentsQuery.class || name(parameter, options).equals(name)));
    }

    /** The option that a parameter is: from and to have their unit here. */
    private static String name(Parameter parameter, Map<String, Object> options) {
        String bare = parameter.getName().replaceFirst("Ms$", "");
        return options.containsKey(bare) ? bare : parameter.getName();
    }

    private static Object argument(Parameter parameter, Object value, Map<String, Object> options) throws ReflectiveOperationException {
        Class<?> type = parameter.getType();
        if (type == CommentsQuery.class) {
            return query(options);
        }
        if (value == null) {
            return parameter.getName().equals("key") ? StarlingApi.drawKey() : type == boolean.class ? false : null;
        }
        if (parameter.getName().equals("preferences")) {
            return NoticePreference.readAll(Json.asObject(value));
        }
        if (type == PlaceTell.class) {
            return tell(value);
        }
        if (value instanceof List && !((List<?>) value).isEmpty()) {
            boolean reports = ((List<?>) value).get(0) instanceof Map;
            List<Object> items = new ArrayList<>();
            for (Object item : (List<?>) value) {
                items.add(reports ? report(Json.asObject(item)) : parameter.getName().equals("users") ? Long.valueOf((String) item) : item);
            }
            return items;
        }
        if ((type == long.class || type == Long.class) && value instanceof String) {
            return Long.valueOf((String) value); // a user
        }
        if (type == double.class) {
            return Json.asDouble(value, Double.NaN);
        }
        return type == int.class || type == Integer.class ? (Object) ((Long) value).intValue() : value;
    }

    private static PlaceTell tell(Object value) {
        List<Long> users = new ArrayList<>();
        for (Object user : Json.asList(value)) {
            users.add(Long.valueOf((String) user));
        }
        return value instanceof List ? PlaceTell.users(users) : PlaceTell.read(value);
    }

    /** Coordinates that are missing, or no numbers, are not a number. */
    private static Report report(Map<String, Object> given) {
        Object accuracy = given.get("accuracy");
        return new Report(Json.asDouble(given.get("lat"), Double.NaN), Json.asDouble(given.get("lng"), Double.NaN), (Long) given.get("time"),
                accuracy == null ? null : Json.asDouble(accuracy, Double.NaN), details(given));
    }

    /** In the names of the protocol, but for two. */
    private static Details details(Map<String, Object> given) {
        Map<String, Object> said = new LinkedHashMap<>(given);
        said.put("speed_mps", given.get("speed"));
        said.put("vertical_accuracy_m", given.get("verticalAccuracy"));
        return Details.read(said);
    }

    private static CommentsQuery query(Map<String, Object> options) throws ReflectiveOperationException {
        CommentsQuery query = new CommentsQuery();
        for (Method method : CommentsQuery.class.getMethods()) {
            Object value = options.get(method.getName());
            if (method.getName().equals("sort") && value != null) {
                query.sort(CommentsQuery.Sort.valueOf(((String) value).toUpperCase(Locale.ROOT)));
            } else if (method.getParameterCount() == 0 && Boolean.TRUE.equals(value)) {
                method.invoke(query);
            } else if (method.getParameterCount() == 1 && value != null) {
                method.invoke(query, argument(method.getParameters()[0], value, options));
            }
        }
        return query;
    }

    // from what it returns

    /** As the JavaScript client has it: users as text, words as the protocol writes them. */
    private static Object plain(String name, Object value) throws IllegalAccessException {
        if (value == null || value instanceof Boolean || value instanceof Double || value instanceof String) {
            return value;
        }
        if (value instanceof Number) {
            return name.equals("user") || name.equals("owner") ? (Object) value.toString() : value;
        }
        if (value instanceof Enum) {
            return ((Enum<?>) value).name().toLowerCase(Locale.ROOT);
        }
        if (value instanceof PlaceTell) {
            return plain("users", ((PlaceTell) value).write());
        }
        if (value instanceof ExportPage) {
            return plain(name, exported((ExportPage) value));
        }
        if (value instanceof Iterable) {
            List<Object> items = new ArrayList<>();
            for (Object item : (Iterable<?>) value) {
                items.add(plain(name.equals("users") ? "user" : "", item));
            }
            return items;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        if (value instanceof Map) {
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                members.put((String) member.getKey(), plain((String) member.getKey(), member.getValue()));
            }
        } else {
            for (Field field : value.getClass().getFields()) {
                if (field.getType() == Details.class) {
                    said(field.get(value), members);
                } else if (!Modifier.isStatic(field.getModifiers())) {
                    members.put(field.getName(), plain(field.getName(), field.get(value)));
                }
            }
        }
        return members;
    }

    /** What is said, among the members. */
    private static void said(Object details, Map<String, Object> members) throws IllegalAccessException {
        for (Field field : Details.class.getFields()) {
            if (field.getType() != Details.class && field.get(details) != null) {
                members.put(field.getName(), field.get(details));
            }
        }
    }

    /** With its kind in each item. */
    private static Map<String, Object> exported(ExportPage page) {
        List<Object> items = new ArrayList<>();
        for (Map<String, Object> item : page.items) {
            Map<String, Object> one = new LinkedHashMap<>(item);
            one.put("kind", page.kind);
            items.add(one);
        }
        Map<String, Object> whole = new LinkedHashMap<>();
        whole.put("items", items);
        whole.put("next", page.next);
        whole.put("kind", page.kind);
        return whole;
    }

    private static Object failure(Throwable error) throws IllegalAccessException {
        String kind = error.getClass().getSimpleName();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("error", kind.equals("ApiException") ? "ApiError" : kind);
        answer.put("message", error.getMessage());
        for (String name : new String[] {"status", "code", "why"}) {
            answer.put(name, null);
        }
        for (Field field : error.getClass().getFields()) {
            if (answer.containsKey(field.getName())) {
                answer.put(field.getName(), plain("", field.get(error)));
            }
        }
        return answer;
    }

    private Object called(Map<String, Object> question) throws Exception {
        String call = (String) question.get("call");
        List<?> given = Json.asList(question.get("arguments"));
        Map<String, Object> options = question.get("options") == null ? Collections.emptyMap() : Json.asObject(question.get("options"));
        Method method = method(call, given, options);
        Parameter[] parameters = method.getParameters();
        Object[] arguments = new Object[parameters.length];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = argument(parameters[i], i < given.size() ? given.get(i) : options.get(name(parameters[i], options)), options);
        }
        Object answer = method.invoke(api, arguments);
        if (!Boolean.TRUE.equals(question.get("all"))) {
            return plain("", answer);
        }
        List<Object> all = new ArrayList<>();
        for (Page<?> page = (Page<?>) answer; page != null; page = api.pageAfter(page)) {
            all.addAll((List<?>) Json.asObject(plain("", page)).get("items"));
        }
        return all;
    }

    private Map<String, Object> answer(Map<String, Object> question) throws IllegalAccessException {
        try {
            return Collections.singletonMap("result", called(question));
        } catch (InvocationTargetException error) {
            return Json.asObject(failure(error.getCause()));
        } catch (Exception error) {
            return Json.asObject(failure(error));
        }
    }

    public static void main(String[] arguments) throws Exception {
        ProtocolDoor door = new ProtocolDoor(Json.readObject(arguments[0]));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            out.println(Json.write(door.answer(Json.readObject(line))));
        }
    }
}
