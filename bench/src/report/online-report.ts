import { cpuParts } from '../measure/thread-cpu.js'
import { median, type Ratio, ratioOf, spreadOf } from '../measure/statistics.js'
import type { IdleBytes } from '../online/idle-memory.js'
import type { OnlineFigures } from '../online/online.js'
import type { Party, PartyFigures, RowFigures, Unit } from '../online/rows.js'
import { layOutTable, percent, range, whole } from './format.js'

/** Returns tables of figures for each database. */
export function onlineTables(all: readonly OnlineFigures[]): string {
  return all.flatMap(tablesOf).join('\n\n')
}

function tablesOf(figures: OnlineFigures): string[] {
  const { database, devices, rows, errorSamples } = figures
  const compared = rows.filter(({ parties }) => parties.other)
  const processorTime = `Online on ${database}, ${devices} users; processor time in us for a message, an opening, a delivery or an idle second:`
  const ratios = `This build by the other on ${database}, the median, the lowest and the highest of the starts:`
  return [
    ...(rows.length > 0 ? [[processorTime, layOutTable(heads, rows.flatMap(linesOf))]] : []),
    [layOutTable(['figure', 'value', 'aim', ''], aimsOf(figures)), ...errorSamples],
    ...(compared.length > 0
      ? [[ratios, layOutTable(comparisonHeads, compared.map(comparisonCells))]]
      : []),
  ].map((lines) => lines.join('\n'))
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

function partyName(party: Party, unit: Unit): string {
  if (party !== 'bare') return `${party} build`
  return unit === 'message' ? 'bare echo' : 'bare server'
}

function linesOf({ what, unit, parties }: RowFigures): string[][] {
  return (['bare', 'this', 'other'] as const).flatMap((party) => {
    const figures = parties[party]
    return figures ? [[what, partyName(party, unit), ...cellsOf(figures, unit)]] : []
  })
}

function cellsOf({ perSecond, cpuUs, ...latencies }: PartyFigures, unit: Unit): string[] {
  const time = unit === 'delivery' ? decimals : whole
  const cell = (values: readonly number[], text: (value: number) => string) => {
    const value = median(values)
    return Number.isNaN(value) ? '-' : text(value)
  }
  return [
    cell(perSecond, whole),
    ...(['all', ...cpuParts] as const).map((part) => cell(cpuUs[part], time)),
    cell(latencies.p50Ms, decimals),
    Number.isNaN(median(latencies.p99Ms)) ? '-' : decimals(Math.max(...latencies.p99Ms)),
    cell(latencies.deliveryP50Ms, decimals),
    cell(latencies.deliveries, decimals),
  ]
}

const decimals = (value: number) => value.toFixed(2)

/** Figures with an aim, of this build; the memory of the other one beside it. */
function aimsOf({ ratios, memory, errors }: OnlineFigures): string[][] {
  return [
    ...atLeast('sends at saturation, no user connected, of the echo', ratios.sendsOfEcho, 0.5),
    ...atLeast('the same by processor time', ratios.sendsOfEchoCpu, 0.5),
    ...atLeast('sends, all users connected, of those with none', ratios.onlineOfOffline, 0.9),
    ...atLeast('the same by processor time', ratios.onlineOfOfflineCpu, 0.9),
    ...atMost('first opening, in sends', ratios.firstOpeningInSends, 6),
    ...atMost('opening after a cut, in sends', ratios.openingInSends, 2.5),
    ...atLeast('messages to all, of the bare server', ratios.fanOutOfBare, 1.3),
    ...atLeast('messages to all, ten at once, of the bare server', ratios.burstOfBare, 6),
    ...(memory
      ? [
          ...memoryLines('KB of an idle connection', memory.plain, 10),
          ...memoryLines('KB with 20 groups, 30 contacts', memory.withGroups, 15),
        ]
      : []),
    ['errors', whole(errors), '0', verdict(errors === 0)],
  ]
}

function memoryLines(figure: string, bytes: IdleBytes, aim: number): string[][] {
  const kilobytes = (party: 'this' | 'other') => (bytes[party] ?? []).map((value) => value / 1_000)
  const [other] = atMost(`${figure}, other build`, kilobytes('other'), aim)
  return [...atMost(figure, kilobytes('this'), aim), ...(other ? [other] : [])]
}

/** Empty without values, as are ratios to what was not measured. */
function atLeast(figure: string, values: readonly number[], aim: number): string[][] {
  return line(figure, values, { aim, isMet: (value) => value >= aim })
}

function atMost(figure: string, values: readonly number[], aim: number): string[][] {
  return line(figure, values, { aim, isMet: (value) => value <= aim })
}

function line(
  figure: string,
  values: readonly number[],
  { aim, isMet }: { readonly aim: number; readonly isMet: (value: number) => boolean },
): string[][] {
  const value = median(values)
  if (Number.isNaN(value)) return []
  return [[figure, range(spreadOf(values), decimals), String(aim), verdict(isMet(value))]]
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
