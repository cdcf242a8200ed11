import { expect, it } from 'vitest'
import type { PushCertificateEntry } from '../../domain/push/certificates/certificate-model.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { PushOutcome } from '../../push/outcomes.js'
import { outcomeObserver } from './push-outcomes.js'

/** Returns the log lines about outcomes of one certificate. */
function linesOf(outcomes: readonly PushOutcome[]) {
  const lines: unknown[] = []
  const log = { warn: (fields: object, text: string) => lines.push([fields, text]) }
  const metrics = { push: { outcomes() {} } }
  const observer = outcomeObserver(log as unknown as Logger, metrics as unknown as Metrics)
  const certificate = { name: 'main', gateway: { channel: 'vendor_x' } } as PushCertificateEntry
  observer.tried(
    'demo',
    outcomes.map((outcome) => ({ certificate, outcome })),
  )
  return lines
}

const fields = { app: 'demo', certificate: 'main', channel: 'vendor_x', more: 0 }

it('operators are told once of receipts that a gateway refuses, though it takes the pushes', () => {
  const alarm = { kind: 'receipts_refused', code: '65038' } as const
  const outcome = { kind: 'accepted', messageId: 'm', alarm } as const
  expect(linesOf([outcome, outcome, { kind: 'accepted', messageId: 'n' }])).toEqual([
    [
      { ...fields, code: '65038' },
      'push gateway refuses the address for receipts: pushes go without them, at twice the requests',
    ],
  ])
})

it('operators are told of a template that a gateway wants', () => {
  const alarm = { kind: 'template' } as const
  const refusal = { kind: 'config', code: '54', reason: 'null', isOfPush: true, alarm } as const
  expect(linesOf([refusal])).toEqual([
    [{ ...fields, code: '54' }, 'push gateway refuses a message for its template, or wants one'],
  ])
})
