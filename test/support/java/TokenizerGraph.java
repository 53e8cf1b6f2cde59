import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs a tokenizer graph by the onnxruntime of Java: a process without Python.
 *
 * <p>usage: java -cp onnxruntime.jar TokenizerGraph.java LIBRARY GRAPH COLUMN... < batches > answers
 *
 * <p>A batch is the number of its rows, then column by column each text as its length in bytes and UTF-8. Its answer is the
 * width of the rows, then ids, mask and types, row by row. All numbers are 32 bits, the highest byte first.
 */
public final class TokenizerGraph {
  private static final String[] OUTPUTS = {"INPUT_IDS", "ATTENTION_MASK", "TOKEN_TYPE_IDS"};

  public static void main(String[] args) throws Exception {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    OrtSession.SessionOptions options = new OrtSession.SessionOptions();
    options.registerCustomOpLibrary(args[0]);
    options.setIntraOpNumThreads(1);
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    try (OrtSession session = environment.createSession(args[1], options)) {
      while (true) {
        int rows;
        try {
          rows = in.readInt();
        } catch (EOFException end) {
          break;
        }
        Map<String, OnnxTensor> inputs = new LinkedHashMap<>();
        for (int column = 2; column < args.length; column++) {
          String[][] texts = new String[rows][1];
          for (String[] row : texts) row[0] = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
          inputs.put(args[column], OnnxTensor.createTensor(environment, texts));
        }
        try (OrtSession.Result result = session.run(inputs)) {
          answer(result, out);
        } finally {
          inputs.values().forEach(OnnxTensor::close);
        }
      }
    }
    out.flush();
  }

  private static void answer(OrtSession.Result result, DataOutputStream out) throws Exception {
    boolean first = true;
    for (String name : OUTPUTS) {
      long[][] rows = (long[][]) result.get(name).orElseThrow().getValue();
      if (first) out.writeInt(rows[0].length);
      first = false;
      for (long[] row : rows) for (long value : row) out.writeInt((int) value);
    }
  }
}
