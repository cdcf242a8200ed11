/**
 * The simulated gateways as a process: sends their certificates over IPC, and the recorded requests
 * on demand.
 */
import {
  PushSimulator,
  type SimulatedCertificate,
  type SimulatedChannel,
  simulatedChannels,
} from '@hermod/push-simulator'
import type { BareRequest } from './bare-run.js'

/** The first message of the process. */
export interface SimulatorStarted {
  readonly certificates: Readonly<Record<SimulatedChannel, SimulatedCertificate>>
}

/** Requests to send that a gateway received. */
export interface RecordedSends {
  /** The last ones, at most 10 000. */
  readonly requests: readonly BareRequest[]
  /** Number of all requests since the last call. */
  readonly count: number
}

const counts = new Map<SimulatedChannel, number>()
const simulator = await PushSimulator.start({
  onCall: ({ channel, path }) => {
    if (isSend(path)) counts.set(channel, (counts.get(channel) ?? 0) + 1)
  },
})
const certificates = Object.fromEntries(
  simulatedChannels.map((channel) => [channel, simulator.gateways[channel].certificate]),
) as SimulatorStarted['certificates']

// The parent process has ended.
process.once('disconnect', () => process.exit())
process.on('message', (channel: SimulatedChannel) => {
  const sends = simulator.gateways[channel].calls.filter(({ path }) => isSend(path))
  const requests = sends.map(({ path, headers, body }) => ({
    path,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => isOwn(name))),
    body,
  }))
  tellParent({ requests, count: counts.get(channel) ?? 0 } satisfies RecordedSends)
  counts.delete(channel)
})
tellParent({ certificates } satisfies SimulatorStarted)

/** Access tokens have another path. */
function isSend(path: string): boolean {
  return !/\/(auth|token)$/.test(path)
}

/** Headers that HTTP clients do not add. */
function isOwn(name: string): boolean {
  return !name.startsWith(':') && !['host', 'connection', 'content-length'].includes(name)
}

function tellParent(message: SimulatorStarted | RecordedSends): void {
  process.send?.(message)
}
