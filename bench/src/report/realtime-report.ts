import type { FanOutRow, RealtimeFigures } from '../realtime/realtime.js'
import { layOutTable, percent, whole } from './format.js'

interface Line {
  readonly figure: string
  readonly value: string
  /** The target of the value, and the aim; absent: a figure without a target. */
  readonly target?: string
  readonly isMet?: boolean
}

/** Returns a table of figures for each database. */
export function realtimeTables(all: readonly RealtimeFigures[]): string {
  return all
    .map((figures) =>
      [
        `Realtime on ${figures.database}, ${figures.devices} connected devices:`,
        layOutTable(
          ['figure', 'value', 'target (aim)', ''],
          linesOf(figures).map(({ figure, value, target = '-', isMet }) => [
            figure,
            value,
            target,
            isMet === undefined ? '' : isMet ? 'met' : 'MISSED',
          ]),
        ),
      ].join('\n'),
    )
    .join('\n\n')
}

const milliseconds = (value: number) => `${value.toFixed(1)} ms`
const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} KB`

function linesOf(figures: RealtimeFigures): Line[] {
  const { toAll, lag, idleLag, oneToOne, besideFanOut } = figures
  const { storm, restart, list, behind, unchanged } = figures
  return [
    ...figures.fanOuts.map(fanOutLine),
    {
      figure: 'one message a second, p99 to all',
      value: `${milliseconds(toAll.p99Ms)} (p50 ${milliseconds(toAll.p50Ms)}, ${toAll.count} messages)`,
      target: '150 ms (80 ms)',
      isMet: toAll.p99Ms <= 150,
    },
    {
      figure: 'loop lag meanwhile, p99',
      value: `${milliseconds(lag.p99Ms)} (max ${milliseconds(lag.maxMs)}; idle ${milliseconds(idleLag.p99Ms)})`,
      target: '10 ms',
      isMet: lag.p99Ms <= 10,
    },
    {
      figure: 'sends over sockets, of HTTP',
      value: `${percent(figures.socketOfHttp)} (${whole(figures.socketPerSecond)}/s and ${whole(figures.httpPerSecond)}/s)`,
      target: '130 %',
      isMet: figures.socketOfHttp >= 1.3,
    },
    {
      figure: `one to one at ${whole(figures.socketPerSecond / 2)}/s, p99`,
      value: `${milliseconds(oneToOne.latency.p99Ms)} (p50 ${milliseconds(oneToOne.latency.p50Ms)})`,
      target: '20 ms',
      isMet: oneToOne.latency.p99Ms <= 20 && oneToOne.errors === 0,
    },
    {
      figure: 'the same beside a fan-out a second, p99',
      value: `${milliseconds(besideFanOut.latency.p99Ms)} (p50 ${milliseconds(besideFanOut.latency.p50Ms)})`,
      target: '40 ms',
      isMet: besideFanOut.latency.p99Ms <= 40 && besideFanOut.errors === 0,
    },
    {
      figure: 'idle memory of a connection',
      value: kilobytes(figures.idleBytes),
      target: '20 KB (12 KB)',
      isMet: figures.idleBytes <= 20_000,
    },
    { figure: 'with 20 groups, 30 contacts', value: kilobytes(figures.idleWithGroupsBytes) },
    { figure: 'first open of all', value: returned(figures.open) },
    { figure: 'all cut, back and in sync', value: returned(storm) },
    {
      figure: 'service restarted, back and in sync',
      value: returned(restart),
      target: '10 s',
      isMet: restart.ms <= 10_000,
    },
    { figure: 'whole list of a device', value: returned(list) },
    {
      figure: `behind by ${behind.messages} messages in ${behind.conversations} logs`,
      value: returned(behind),
    },
    { figure: 'open with nothing new', value: returned(unchanged) },
  ]
}

function fanOutLine({
  burst,
  ofBare,
  servicePerSecond,
  barePerSecond,
  devicesCpuShare,
}: FanOutRow): Line {
  const [target, aim] = burst === 1 ? [0.8, 1.05] : [2, 4]
  return {
    figure: burst === 1 ? 'fan-out, of bare' : `fan-out, ${burst} at once, of bare`,
    value: `${ofBare.toFixed(2)} (${servicePerSecond.toFixed(1)}/s and ${barePerSecond.toFixed(1)}/s, devices' CPU ${percent(devicesCpuShare, 0)})`,
    target: `${target} (${aim})`,
    isMet: ofBare >= target,
  }
}

function returned({ ms, calls, bytes }: RealtimeFigures['storm']): string {
  return `${(ms / 1_000).toFixed(2)} s, ${calls} calls, ${whole(bytes / 1_000)} KB`
}
