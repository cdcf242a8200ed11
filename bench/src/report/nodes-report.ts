import type { KillFigures, NodeCountFigures, NodesFigures } from '../nodes/nodes.js'
import { layOutTable, whole } from './format.js'

const latencyAimMs = 30
const cpuAim = 1.4
const deliveryAimMs = 5_000
const ms = (value: number) => `${value.toFixed(1)} ms`

/** Returns a table of figures by number of nodes, and one of a kill. */
export function nodesTables(all: readonly NodesFigures[]): string {
  return all
    .map(({ devices, counts, kill }) =>
      [
        `Nodes on one PostgreSQL, ${devices} connected devices:`,
        layOutTable(
          ['figure', ...counts.map(({ nodes }) => `${nodes} node${nodes > 1 ? 's' : ''}`), 'aim'],
          countRows(counts),
        ),
        '',
        layOutTable(['one of three nodes killed', 'value', 'aim'], killRows(kill)),
      ].join('\n'),
    )
    .join('\n\n')
}

function countRows(counts: readonly NodeCountFigures[]): string[][] {
  const [one] = counts
  const row = (figure: string, value: (of: NodeCountFigures) => string, aim = '-') => [
    figure,
    ...counts.map(value),
    aim,
  ]
  const ofOne = (cpu: number) => (one ? ` (${(cpu / one.cpuUsPerSend).toFixed(2)})` : '')
  return [
    row('sends a second', ({ sendsPerSecond }) => whole(sendsPerSecond)),
    row(
      'CPU of the nodes per send, us (of one node)',
      ({ cpuUsPerSend }) => `${whole(cpuUsPerSend)}${ofOne(cpuUsPerSend)}`,
      `${cpuAim}`,
    ),
    row('CPU of PostgreSQL per send, us', (of) => whole(of.databaseCpuUsPerSend)),
    row('bytes between nodes per send', (of) => whole(of.busBytesPerSend)),
    row(
      'from send to event, p50 (p99)',
      ({ latency: { p50Ms, p99Ms } }) => `${ms(p50Ms)} (${ms(p99Ms)})`,
      `${latencyAimMs} ms`,
    ),
    row('messages to all a second', (of) => of.fanOutsPerSecond.toFixed(1)),
    row('all devices open again', ({ storm }) => `${(storm.ms / 1_000).toFixed(1)} s`),
  ]
}

function killRows({ latency, errors, moved }: KillFigures): string[][] {
  return [
    [
      'messages between the others, slowest (p99)',
      `${ms(latency.maxMs)} (${ms(latency.p99Ms)})`,
      ms(deliveryAimMs),
    ],
    ['their errors', whole(errors), '0'],
    [`${moved.devices} devices back on another node`, `${(moved.ms / 1_000).toFixed(1)} s`, '-'],
  ]
}
