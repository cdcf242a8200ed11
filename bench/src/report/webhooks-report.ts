import { eventsPerSecond, type WebhookFigures, type WebhookRate } from '../webhooks/webhooks.js'
import { layOutTable, percent, whole } from './format.js'

/** A figure, its value, its aim, and whether it is met. */
type Line = readonly [figure: string, value: string, aim?: string, isMet?: boolean]

const shareOfBare = 0.6
const maxP99Ms = 50
const maxSlowdown = 1.25
const maxIdleCores = 0.01
/** A million in five minutes. */
const caughtUpPerSecond = 1_000_000 / 300

/** Returns a table of figures for each database. */
export function webhookTables(all: readonly WebhookFigures[]): string {
  return all
    .map((figures) =>
      [
        `Webhooks on ${figures.database}:`,
        layOutTable(
          ['figure', 'value', 'aim', ''],
          linesOf(figures).map(([figure, value, aim = '-', isMet]) => [
            figure,
            value,
            aim,
            isMet === undefined ? '' : isMet ? 'met' : 'MISSED',
          ]),
        ),
        ...figures.errorSamples.map((sample) => `${figures.database} webhooks: ${sample}`),
      ].join('\n'),
    )
    .join('\n\n')
}

const ms = (value: number) => `${value.toFixed(1)} ms`

function linesOf({
  rates,
  latency,
  disordered,
  sends,
  nine,
  idle,
  errors,
}: WebhookFigures): Line[] {
  const slowdown = sends.withP50Ms / sends.withoutP50Ms
  return [
    ...rates.flatMap(rateLines),
    ['events after later ones of their key', whole(disordered), '0', disordered === 0],
    [
      `commit to receiver at ${eventsPerSecond}/s, p99`,
      `${ms(latency.p99Ms)} (p50 ${ms(latency.p50Ms)}, max ${ms(latency.maxMs)}, ${latency.events} events)`,
      ms(maxP99Ms),
      latency.p99Ms <= maxP99Ms,
    ],
    [
      `sends at ${eventsPerSecond}/s with an endpoint, p50`,
      `${percent(slowdown)} of those without (${ms(sends.withP50Ms)} and ${ms(sends.withoutP50Ms)}; p99 ${ms(sends.withP99Ms)} and ${ms(sends.withoutP99Ms)})`,
      percent(maxSlowdown, 0),
      slowdown <= maxSlowdown,
    ],
    [
      'nine endpoints beside one that never answers, p99',
      `${ms(nine.besideP99Ms)} (without it ${ms(nine.aloneP99Ms)})`,
    ],
    [
      'idle, 200 applications with 20 endpoints',
      `${percent(idle.withCores - idle.withoutCores, 2)} of a core more than ${percent(idle.withoutCores, 2)}`,
      percent(maxIdleCores, 0),
      idle.withCores - idle.withoutCores < maxIdleCores,
    ],
    ['errors of sends', whole(errors), '0', errors === 0],
  ]
}

function rateLines({ batchSize, events, seconds, perSecond, barePerSecond }: WebhookRate): Line[] {
  const share = perSecond / barePerSecond
  const what = batchSize === 1 ? 'single events' : `batches of ${batchSize}`
  return [
    [
      `${what}, of a bare client`,
      `${percent(share)} (${whole(perSecond)}/s and ${whole(barePerSecond)}/s)`,
      percent(shareOfBare, 0),
      share >= shareOfBare,
    ],
    ...(batchSize === 1
      ? []
      : [
          [
            `catch-up of ${events} events`,
            `${seconds.toFixed(1)} s`,
            `${(events / caughtUpPerSecond).toFixed(0)} s`,
            perSecond >= caughtUpPerSecond,
          ] as const,
        ]),
  ]
}
