import type { OutcomeObserver, TriedOutcome } from '../../domain/push/sending/batch-sender.js'
import { groupBy } from '../../lib/group-by.js'
import { boundedCache } from '../../lib/limits/bounded-cache.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { OutcomeAlarm, PushOutcome } from '../../push/outcomes.js'

const lineEveryMs = 60_000
const maxLimits = 10_000

/** Causes that operators can fix. */
const lines = {
  config: 'push gateway refuses the credentials or the set-up',
  circuit_open: 'nothing is sent to a push gateway for now',
  mass_prune:
    'push gateway calls tokens dead, and has accepted none for a day: the tokens are kept',
  clock: 'push gateway finds the clock of this machine wrong',
  receipts_refused:
    'push gateway refuses the address for receipts: pushes go without them, at twice the requests',
  template: 'push gateway refuses a message for its template, or wants one',
  unknown_code: 'push gateway answers a code that is not known',
} satisfies Record<OutcomeAlarm['kind'] | 'config' | 'circuit_open', string>

/** Counts outcomes, and logs one line a minute for each certificate and cause. */
export function outcomeObserver(log: Logger, metrics: Metrics): OutcomeObserver {
  const limits = boundedCache<string, LineLimit>(maxLimits)
  const warn = (appId: string, { certificate: { name, gateway }, outcome }: TriedOutcome) => {
    const cause = causeOf(outcome)
    if (cause === null) return
    const key = JSON.stringify([appId, name, cause])
    const limit = limits.get(key) ?? new LineLimit(lineEveryMs)
    limits.set(key, limit)
    const more = limit.next()
    if (more === null) return
    const { alarm } = outcome
    const code = outcome.kind === 'accepted' ? outcome.alarm?.code : outcome.code
    const skew = alarm?.kind === 'clock' ? { skewSeconds: alarm.skewSeconds } : {}
    const fields = { app: appId, certificate: name, channel: gateway.channel, code }
    log.warn({ ...fields, ...skew, more }, lines[cause])
  }
  return {
    tried(appId, tries) {
      for (const [channel, ofChannel] of groupBy(tries, (each) => each.certificate.gateway.channel))
        for (const [kind, { length }] of groupBy(ofChannel, ({ outcome }) => outcome.kind))
          metrics.push.outcomes(channel, kind, length)
      for (const each of tries) warn(appId, each)
    },
  }
}

/** Null when operators need not act. */
function causeOf(outcome: PushOutcome): keyof typeof lines | null {
  if (outcome.alarm) return outcome.alarm.kind
  if (outcome.kind === 'accepted') return null
  if (outcome.code === 'circuit_open') return 'circuit_open'
  return outcome.kind === 'config' ? 'config' : null
}
