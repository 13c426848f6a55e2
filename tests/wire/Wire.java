// Runs JMeter plans one after another in one JVM: java -cp 'lib/*:lib/ext/*:bin/ApacheJMeter.jar' Wire.java HOME LIST CONTROL
//
// Each line of LIST is a name, a plan file, and JMeter properties as name=value, separated by tabs. Before each plan the URL CONTROL
// with the plan's name at its end is requested, so that the recording server knows to which plan requests belong.
import java.io.File;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.jmeter.JMeter;
import org.apache.jmeter.control.ReplaceableController;
import org.apache.jmeter.engine.StandardJMeterEngine;
import org.apache.jmeter.gui.tree.JMeterTreeModel;
import org.apache.jmeter.gui.tree.JMeterTreeNode;
import org.apache.jmeter.save.SaveService;
import org.apache.jmeter.services.FileServer;
import org.apache.jmeter.util.JMeterUtils;
import org.apache.jorphan.collections.HashTree;
import org.apache.jorphan.collections.SearchByClass;

public class Wire {
    /** Time after which a plan is stopped, in seconds. */
    private static final long MOST = 30;

    public static void main(String[] args) throws Exception {
        JMeterUtils.setJMeterHome(args[0]);
        JMeterUtils.loadJMeterProperties(args[0] + "/bin/jmeter.properties");
        for (String file : new String[] {"user.properties", "upgrade.properties"}) {
            File more = new File(args[0] + "/bin/" + file);
            if (more.isFile()) {
                try (InputStream in = Files.newInputStream(more.toPath())) {
                    JMeterUtils.getJMeterProperties().load(in);
                }
            }
        }
        JMeterUtils.initLocale();
        SaveService.loadProperties();
        Properties usual = new Properties();
        usual.putAll(JMeterUtils.getJMeterProperties());
        for (String line : Files.readAllLines(Path.of(args[1]))) {
            String[] cells = line.split("\t");
            Properties properties = JMeterUtils.getJMeterProperties();
            properties.clear();
            properties.putAll(usual);
            for (int at = 2; at < cells.length; at++) {
                String[] pair = cells[at].split("=", 2);
                properties.setProperty(pair[0], pair[1]);
            }
            URI.create(args[2] + cells[0]).toURL().openStream().readAllBytes();
            try {
                run(cells[0], new File(cells[1]));
            } catch (Throwable wrong) {
                System.out.println(cells[0] + "\t" + wrong);
            }
        }
        System.exit(0);
    }

    private static void run(String name, File file) throws Exception {
        FileServer.getFileServer().setBaseForScript(file);
        HashTree tree = SaveService.loadTree(file);
        JMeterTreeModel model = new JMeterTreeModel(new Object());
        JMeterTreeNode root = (JMeterTreeNode) model.getRoot();
        model.addSubTree(tree, root);
        SearchByClass<ReplaceableController> replaceable = new SearchByClass<>(ReplaceableController.class);
        tree.traverse(replaceable);
        for (ReplaceableController controller : replaceable.getSearchResults()) {
            controller.resolveReplacementSubTree(root);
        }
        StandardJMeterEngine engine = new StandardJMeterEngine();
        engine.configure(JMeter.convertSubTree(tree, true));
        Thread running = new Thread(engine);
        running.start();
        running.join(TimeUnit.SECONDS.toMillis(MOST));
        if (running.isAlive()) {
            System.out.println(name + "\tstopped after " + MOST + " s");
            engine.stopTest(true);
            running.join(TimeUnit.SECONDS.toMillis(10));
        }
    }
}
