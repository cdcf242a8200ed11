/** The used part of the metrics library; the build bundles it into one file, see scripts/bundle.mjs. */
export { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
