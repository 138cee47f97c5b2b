package starling.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** What goes to a repository of packages: the jars, their metadata, and a changelog that knows the version. Maven runs it after the jars are made. */
public final class PackageCheck {
    private static final String JARS = System.getProperty("starling.jars");
    private static final Path SOURCES = Paths.get("src/main/java");
    private static final int JAVA_8 = 52;

    private static Set<String> names(JarFile jar) {
        return jar.stream().filter(entry -> !entry.isDirectory()).map(JarEntry::getName).collect(Collectors.toCollection(TreeSet::new));
    }

    /** Of the sources, as in starling/client/Post.java. */
    private static Set<String> sources() throws IOException {
        try (Stream<Path> files = Files.walk(SOURCES)) {
            return files.filter(Files::isRegularFile).map(path -> SOURCES.relativize(path).toString())
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static String read(JarFile jar, String name) throws IOException {
        return new String(jar.getInputStream(jar.getEntry(name)).readAllBytes(), StandardCharsets.UTF_8);
    }

    /** The text of pom.xml's element of that path; fails if it is not there, or empty. */
    private static String said(Document pom, String... path) {
        Element at = pom.getDocumentElement();
        for (String name : path) {
            Node child = at.getFirstChild();
            while (child != null && !name.equals(child.getNodeName())) {
                child = child.getNextSibling();
            }
            assertTrue(String.join("/", path), child instanceof Element);
            at = (Element) child;
        }
        String text = at.getTextContent().trim();
        assertFalse(String.join("/", path), text.isEmpty());
        return text;
    }

    @Test
    public void jarHasEveryClassForJava8AndNoMore() throws IOException {
        try (JarFile jar = new JarFile(JARS + ".jar")) {
            Set<String> outer = new TreeSet<>();
            for (String name : names(jar)) {
                if (name.endsWith(".class")) {
                    outer.add(name.replaceFirst("(\\$.*)?\\.class$", ".java"));
                    try (DataInputStream data = new DataInputStream(jar.getInputStream(jar.getEntry(name)))) {
                        assertEquals(name, 0xcafebabe, data.readInt());
                        data.readUnsignedShort();
                        assertEquals(name, JAVA_8, data.readUnsignedShort());
                    }
                } else {
                    assertTrue(name, name.startsWith("META-INF/"));
                }
            }
            assertEquals(sources(), outer);
            assertTrue(read(jar, "META-INF/LICENSE").contains("Apache License"));
            assertEquals("starling.client", jar.getManifest().getMainAttributes().getValue("Automatic-Module-Name"));
        }
    }

    @Test
    public void sourcesAreThoseOfTheJar() throws IOException {
        try (JarFile jar = new JarFile(JARS + "-sources.jar")) {
            Set<String> found = names(jar);
            found.removeIf(name -> !name.endsWith(".java"));
            assertEquals(sources(), found);
            for (String name : found) {
                assertEquals(name, new String(Files.readAllBytes(SOURCES.resolve(name)), StandardCharsets.UTF_8), read(jar, name));
            }
        }
    }

    @Test
    public void everythingPublicIsDocumented() throws IOException {
        try (JarFile jar = new JarFile(JARS + "-javadoc.jar")) {
            Set<String> wanted = new TreeSet<>();
            for (String name : sources()) {
                String text = new String(Files.readAllBytes(SOURCES.resolve(name)), StandardCharsets.UTF_8);
                if (Pattern.compile("^public (final |abstract )*(class|interface|enum) ", Pattern.MULTILINE).matcher(text).find()) {
                    wanted.add(name.replace(".java", ".html"));
                }
            }
            assertTrue(wanted.size() > 20);
            wanted.add("index.html");
            for (String name : names(jar)) {
                wanted.remove(name.replaceFirst("^starling\\.client/", "")); // javadoc may have a folder for the module
            }
            assertEquals(new TreeSet<String>(), wanted);
        }
    }

    @Test
    public void metadataIsWhole() throws Exception {
        try (JarFile jar = new JarFile(JARS + ".jar")) {
            Document pom = DocumentBuilderFactory.newInstance().newDocumentBuilder()
                    .parse(jar.getInputStream(jar.getEntry("META-INF/maven/starling/starling-client/pom.xml")));
            assertEquals("starling", said(pom, "groupId"));
            assertEquals("starling-client", said(pom, "artifactId"));
            assertEquals("Apache-2.0", said(pom, "licenses", "license", "name"));
            for (String[] path : new String[][] {{"name"}, {"description"}, {"url"}, {"developers", "developer", "name"}, {"scm", "url"}}) {
                said(pom, path);
            }
            String changes = new String(Files.readAllBytes(Paths.get("CHANGELOG.md")), StandardCharsets.UTF_8);
            Matcher newest = Pattern.compile("^## (\\d\\S*)", Pattern.MULTILINE).matcher(changes);
            assertTrue(newest.find());
            assertEquals(newest.group(1), said(pom, "version"));
        }
    }
}
