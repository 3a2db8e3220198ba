// Starts an Elasticsearch node: `java -cp 'server/*' Launch HOME SETTINGS`, called by deploy/services/elasticsearch.
// HOME holds config/, modules/ and plugins/; SETTINGS is a properties file with the settings of the node, one key=value a line.
// The command-line bootstrap of the distribution is not published as an artifact; the node behind it is.
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

public class Launch {
    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]).toAbsolutePath();
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[1]))) {
            properties.load(reader);
        }
        Settings.Builder settings = Settings.builder().put("path.home", home.toString());
        for (String key : properties.stringPropertyNames()) {
            settings.put(key, properties.getProperty(key));
        }
        LogConfigurator.configureESLogging();
        Environment environment =
            InternalSettingsPreparer.prepareEnvironment(settings.build(), Map.of(), home.resolve("config"), () -> "node");
        LogConfigurator.configureWithoutConfig(environment.settings());
        PluginsLoader loader = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(home.resolve("modules")),
            PluginsLoader.loadPluginsBundles(home.resolve("plugins")),
            Map.of(),
            false);
        Node node = new Node(environment, loader);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
                node.awaitClose(20, java.util.concurrent.TimeUnit.SECONDS);
            } catch (Exception error) {
                System.err.println("could not close the node: " + error);
            }
            closed.countDown();
        }));
        node.start();
        closed.await();
    }
}
