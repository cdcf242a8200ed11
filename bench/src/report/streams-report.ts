import { median } from '../measure/statistics.js'
import type { AppendResult } from '../realtime/stream-load.js'
import type { StreamsFigures } from '../streams/streams.js'
import { besideText, layOutTable, percent, range, whole } from './format.js'

const appendAimMs = 10
const latencyAim = 1.25
const cpuAim = 1
const firstDeltaAimMs = 60

/** Returns a table of figures for each database. */
export function streamsTables(all: readonly StreamsFigures[]): string {
  return all
    .map((figures) =>
      [
        `Streams on ${figures.database}, ${figures.devices} connected devices:`,
        layOutTable(['figure', 'value', 'aim', ''], rowsOf(figures)),
      ].join('\n'),
    )
    .join('\n\n')
}

function rowsOf(figures: StreamsFigures): string[][] {
  const { streams, sendsPerSecond, sendP50Ms, appendP50Ms, cpuUs, many, firstDeltas } = figures
  const half = `${whole(figures.halfLoad)} sends a second`
  return [
    [
      `p50 of appends, ${streams} streams beside ${half}`,
      range(appendP50Ms, ms),
      ms(appendAimMs),
      verdict(appendP50Ms.median <= appendAimMs),
    ],
    [
      'p50 of these sends, beside streams and without',
      besideText(sendP50Ms, ms),
      `${percent(latencyAim, 0)}`,
      verdict(sendP50Ms.ratio.median <= latencyAim),
    ],
    [
      `CPU of an append and of a send, ${whole(figures.costPerSecond)} a second of one alone`,
      besideText(cpuUs, us),
      `${percent(cpuAim, 0)}`,
      verdict(cpuUs.ratio.median <= cpuAim),
    ],
    ['sends a second, beside streams and without', besideText(sendsPerSecond, whole), '-', ''],
    ...manyRows(many),
    ...firstDeltas.map(({ what, latency: { p50Ms, p99Ms } }) => [
      `first piece ${what}, p99 (p50)`,
      `${ms(p99Ms)} (${ms(p50Ms)})`,
      ms(firstDeltaAimMs),
      verdict(p99Ms <= firstDeltaAimMs),
    ]),
    ['errors', whole(figures.errors), '0', verdict(figures.errors === 0)],
  ]
}

function manyRows(many: StreamsFigures['many']): string[][] {
  const [first] = many
  if (!first) return []
  const of = (value: (result: AppendResult) => number) => median(many.map(value))
  return [
    [
      `${first.streams} streams alone, appends a second`,
      whole(of(({ perSecond }) => perSecond)),
      '-',
      '',
    ],
    [
      'their p50 and p99',
      `${ms(of(({ latency }) => latency.p50Ms))} and ${ms(of(({ latency }) => latency.p99Ms))}`,
      '-',
      '',
    ],
    [
      'from these appends to their events, p50 and p99',
      `${ms(of(({ delta }) => delta.p50Ms))} and ${ms(of(({ delta }) => delta.p99Ms))}`,
      '-',
      '',
    ],
  ]
}

const ms = (value: number) => `${value.toFixed(1)} ms`
const us = (value: number) => `${whole(value)} us`
const verdict = (isMet: boolean) => (isMet ? 'met' : 'MISSED')
