import type { DeliveryRecorder, Result } from './delivery-recorder.js'

/** What came of a try to push to a device. */
export type TriedOutcome = Pick<Result & { readonly kind: 'tried' }, 'certificate' | 'outcome'>

/** Told what came of tries, after the guards and before it is recorded. Nobody waits for it. */
export interface OutcomeObserver {
  tried(appId: string, tries: readonly TriedOutcome[]): void
}

/** Records what came of deliveries. */
export type Recorder = Pick<DeliveryRecorder, 'record' | 'sendLater'>

/** A recorder that tells an observer first. */
export function watchOutcomes(recorder: Recorder, observer: OutcomeObserver): Recorder {
  return {
    record(appId, facts, results) {
      observer.tried(
        appId,
        results.filter((result) => result.kind === 'tried'),
      )
      return recorder.record(appId, facts, results)
    },
    sendLater: (job, batch) => recorder.sendLater(job, batch),
  }
}
