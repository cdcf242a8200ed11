/** What we use of the library of metrics; one file after the build, see scripts/bundle.mjs. */
export { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
