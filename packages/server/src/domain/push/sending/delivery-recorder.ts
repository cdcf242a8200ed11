import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type Clock, minuteMs } from '../../../lib/clock.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import { certificatePauses } from '../../../push/rules/retry.js'
import type { QuotaPauses } from '../../../push/outcomes.js'
import type { CertificateKey } from '../certificates/certificate-model.js'
import { compareDeliveries, deliveryName } from '../deliveries/delivery-model.js'
import type { SendJob } from '../tasks/push-jobs.js'
import {
  heldUntil,
  type Moment,
  progressOf,
  type Result,
  type ResultInputs,
  type TriedDelivery,
  tokenChange,
} from './delivery-progress.js'
import { type RecordedResult, recordResults } from './record-results.js'

/** Notes the use of certificates. */
export interface CertificateUse {
  recordAccepted(tx: Tx, certificate: CertificateKey, at: number): Promise<void>
  /** Does nothing without pauses. */
  pause(tx: Tx, certificate: CertificateKey, pauses: QuotaPauses): Promise<void>
}

interface DeliveryRecorderOptions {
  readonly database: Database
  readonly certificates: CertificateUse
  readonly jobs: JobQueue
  readonly clock: Clock
  readonly random: () => number
}

/** Records the results of deliveries. */
export class DeliveryRecorder {
  constructor(private readonly options: DeliveryRecorderOptions) {}

  /**
   * @returns when to look again at the deliveries that stay as they are, by {@link deliveryName},
   * milliseconds since 1970
   */
  async record(
    appId: string,
    inputs: ResultInputs,
    results: readonly Result[],
  ): Promise<ReadonlyMap<string, number>> {
    const { database, clock, random } = this.options
    const now = clock.now()
    const left = new Map<string, number>()
    const news: RecordedResult[] = []
    for (const result of results) {
      const moment = { now, random: random() }
      const until = heldUntil(result, inputs, moment)
      if (until === null) news.push(recordedResult(result, inputs, moment))
      else left.set(deliveryName(result.delivery), until)
    }
    if (news.length > 0) {
      const sorted = news.sort((a, b) => compareDeliveries(a.delivery, b.delivery))
      const recorded = new Set(await database.procedure(recordResults, sorted, null))
      const isRecorded = ({ delivery }: Result) => recorded.has(deliveryName(delivery))
      await this.#noteCertificates(appId, results.filter(isRecorded), now)
    }
    return left
  }

  /** Orders another look at a batch. */
  async sendLater(
    job: SendJob,
    {
      appId,
      batchId,
      runAt,
    }: { readonly appId: string; readonly batchId: Int64; readonly runAt: number },
  ): Promise<void> {
    const { database, jobs } = this.options
    const key = `${batchId}@${runAt}`
    await database.transaction((tx) =>
      jobs.enqueue(tx, job, { appId, key, runAt, payload: { batchId } }),
    )
  }

  /**
   * In a transaction after the results, and only for news: after a kill the next result of the
   * certificate brings them again.
   */
  async #noteCertificates(appId: string, results: readonly Result[], now: number): Promise<void> {
    const { database, certificates } = this.options
    const tried = results.filter((result) => result.kind === 'tried')
    const byCertificate = groupBy(tried, ({ certificate }) => certificate.certificateId)
    const uses = [...byCertificate]
      .sort(([a], [b]) => compare(a, b))
      .map(([certificateId, ofOne]) => ({ key: { appId, certificateId }, ...useOf(ofOne, now) }))
      .filter(({ isAccepted, pauses }) => isAccepted || Object.keys(pauses).length > 0)
    if (uses.length === 0) return
    await database.transaction(async (tx) => {
      for (const { key, isAccepted, pauses } of uses) {
        if (isAccepted) await certificates.recordAccepted(tx, key, now)
        await certificates.pause(tx, key, pauses)
      }
    })
  }
}

function recordedResult(result: Result, inputs: ResultInputs, moment: Moment): RecordedResult {
  const { delivery } = result
  const progress = progressOf(result, inputs, moment)
  const recorded = { ...progress, attempts: delivery.attempts, dead: null, paused: null }
  const change = tokenChange(result, moment.now)
  if (change === null || result.kind !== 'tried') return recorded
  const { name } = result.certificate
  const { appId, userId, deviceSn } = delivery
  const token = {
    device: { appId, userId, deviceSn },
    binding: { notifierName: name, deviceToken: result.token },
  }
  return change.kind === 'clear'
    ? { ...recorded, dead: { ...token, boundBefore: change.boundBefore, certificate: name } }
    : { ...recorded, paused: { ...token, until: change.until } }
}

/**
 * The news about a certificate: a success that is a minute later than the last known one, and
 * pauses that are not known.
 */
function useOf(tried: readonly TriedDelivery[], now: number) {
  const outcomes = tried.map(({ outcome }) => outcome)
  const { lastAcceptedAt = 0, pauses = {} } = tried[0]?.certificate ?? {}
  return {
    isAccepted:
      lastAcceptedAt <= now - minuteMs && outcomes.some(({ kind }) => kind === 'accepted'),
    pauses: certificatePauses(outcomes, pauses),
  }
}
