package starling.client;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/** A value whose text, for logs, names its public fields. */
abstract class Shown {
    @Override
    public final String toString() {
        StringBuilder text = new StringBuilder(getClass().getSimpleName()).append('{');
        String between = "";
        for (Field field : getClass().getFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                continue;
            }
            text.append(between).append(field.getName()).append('=');
            try {
                text.append(field.get(this));
            } catch (IllegalAccessException error) {
                text.append('?');
            }
            between = ", ";
        }
        return text.append('}').toString();
    }
}
