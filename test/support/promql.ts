/** What a PromQL expression names: metrics, and the values it asks of labels. */
export type Matcher = { readonly metric: string; readonly label: string; readonly op: string; readonly value: string };

const NAME = /\b(rag_serving_[a-z0-9_]+|nv_[a-z0-9_]+|process_[a-z0-9_]+|nodejs_[a-z0-9_]+|up)\b(?!\s*=)/g;

export function metricsIn(expr: string): readonly string[] {
  const outsideQuotes = expr.replace(/"[^"]*"/g, '""');
  return [...new Set([...outsideQuotes.matchAll(NAME)].map(([, name]) => name!))];
}

export function matchersIn(expr: string): readonly Matcher[] {
  return [...expr.matchAll(/([a-z_][a-z0-9_]*)\{([^}]*)\}/g)].flatMap(([, metric, inside]) =>
    [...inside!.matchAll(/([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label, op, value]) => ({
      metric: metric!,
      label: label!,
      op: op!,
      value: value!,
    })),
  );
}

/** The metric that a series belongs to: histograms are asked for by their parts. */
export function familyOf(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}
