import { cpuParts } from '../measure/thread-cpu.js'
import { median, type Ratio, ratioOf, spreadOf } from '../measure/statistics.js'
import type { OnlineFigures } from '../online/online.js'
import type { Party, PartyFigures, RowFigures } from '../online/rows.js'
import { layOutTable, percent, range, whole } from './format.js'

/** Returns tables of figures for each database. */
export function onlineTables(all: readonly OnlineFigures[]): string {
  return all
    .flatMap((figures) => {
      const { database, devices, rows, errorSamples } = figures
      const compared = rows.filter(({ parties }) => parties.other)
      return [
        [
          `Online on ${database}, ${devices} users, processor time in us for a message or an idle second:`,
          layOutTable(heads, rows.flatMap(linesOf)),
          ...errorSamples,
        ],
        [layOutTable(['figure', 'value', 'aim', ''], aimsOf(figures))],
        ...(compared.length > 0
          ? [
              [
                `This build by the other on ${database}, the median, the lowest and the highest of the starts:`,
                layOutTable(comparisonHeads, compared.map(comparisonCells)),
              ],
            ]
          : []),
      ].map((lines) => lines.join('\n'))
    })
    .join('\n\n')
}

const heads = [
  'row',
  'of',
  'a second',
  'CPU',
  'main',
  'writer',
  'checkpoints',
  'others',
  'database',
  'p50 ms',
  'p99 ms',
  'delivery p50',
  'deliveries',
]

const partyNames: Readonly<Record<Party, string>> = {
  bare: 'bare server',
  this: 'this build',
  other: 'other build',
}

function linesOf({ what, parties }: RowFigures): string[][] {
  return (['bare', 'this', 'other'] as const).flatMap((party) => {
    const figures = parties[party]
    return figures ? [[what, partyNames[party], ...cellsOf(figures)]] : []
  })
}

function cellsOf({ perSecond, cpuUs, ...latencies }: PartyFigures): string[] {
  const cell = (values: readonly number[], text: (value: number) => string) => {
    const value = median(values)
    return Number.isNaN(value) ? '-' : text(value)
  }
  return [
    cell(perSecond, whole),
    ...(['all', ...cpuParts] as const).map((part) => cell(cpuUs[part], whole)),
    cell(latencies.p50Ms, decimals),
    Number.isNaN(median(latencies.p99Ms)) ? '-' : decimals(Math.max(...latencies.p99Ms)),
    cell(latencies.deliveryP50Ms, decimals),
    cell(latencies.deliveries, decimals),
  ]
}

const decimals = (value: number) => value.toFixed(2)

/** Figures with an aim, of this build. */
function aimsOf({ rows, onlineOfOffline, errors }: OnlineFigures): string[][] {
  const ofBare = rows.flatMap(({ what, rateOf }) =>
    rateOf.bare && what.includes('saturation')
      ? [line(`${what}, of the bare server`, spreadOf(rateOf.bare), 0.5)]
      : [],
  )
  return [
    ...ofBare,
    line('sends with everybody online, of those with nobody', spreadOf(onlineOfOffline), 0.9),
    ['errors', whole(errors), '0', verdict(errors === 0)],
  ]
}

function line(figure: string, value: Ratio, aim: number): string[] {
  return [figure, range(value, decimals), String(aim), verdict(value.median >= aim)]
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : 'MISSED'
}

const comparisonHeads = [
  'row',
  'rate',
  'lowest',
  'highest',
  'CPU',
  'lowest',
  'highest',
  'main',
  'writer',
  'database',
  'p50',
  'delivery p50',
]

function comparisonCells({ what, parties, rateOf }: RowFigures): string[] {
  const [own, other] = [parties.this, parties.other] as [PartyFigures, PartyFigures]
  const cells = ({ median: middle, min, max }: Ratio) =>
    [middle, min, max].map((value) => (Number.isNaN(value) ? '-' : percent(value)))
  const cpu = (part: keyof PartyFigures['cpuUs']) => ratioOf(own.cpuUs[part], other.cpuUs[part])
  return [
    what,
    ...cells(spreadOf(rateOf.other ?? [])),
    ...cells(cpu('all')),
    ...[
      cpu('main'),
      cpu('writer'),
      cpu('database'),
      ratioOf(own.p50Ms, other.p50Ms),
      ratioOf(own.deliveryP50Ms, other.deliveryP50Ms),
    ].flatMap((ratio) => cells(ratio)[0] ?? '-'),
  ]
}
