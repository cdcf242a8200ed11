import type { PushOutcome } from '../../outcomes.js'
import { noPassThrough } from '../content/answers.js'
import {
  type CallGateway,
  defaultLimits,
  type GatewayProtocol,
  type PushBatch,
} from '../runtime/protocol.js'
import { vendorVOutcomes, vendorVRefusal, vendorVTaskId } from './answers.js'
import { vendorVAuth } from './auth.js'
import { readVendorVCredentials, type VendorVCredentials } from './credentials.js'
import { vendorVClass, vendorVList, vendorVSingle, vendorVStored } from './payload.js'

/** vivo's push service. */
export const vendorVProtocol: GatewayProtocol<VendorVCredentials> = {
  channel: 'vendor_v',
  limits: {
    ...defaultLimits,
    targetsPerRequest: 1_000,
    rateUnit: 'message',
    perSecond: 1_500,
    burst: 1_500,
  },
  auth: vendorVAuth,
  readCredentials: readVendorVCredentials,
  refuse: ({ kind }) => (kind === 'cmd' ? noPassThrough : null),
  classOf: vendorVClass,
  async send(batch, call) {
    const [only, ...others] = batch.targets
    if (only === undefined || others.length > 0) return sendToList(batch, call)
    const request = vendorVSingle(batch, only)
    if ('kind' in request) return [request]
    return vendorVOutcomes(await call(request), batch)
  },
}

/** Stores the message first, then sends it to the devices. */
async function sendToList(
  batch: PushBatch<VendorVCredentials>,
  call: CallGateway,
): Promise<readonly PushOutcome[]> {
  const all = (outcome: PushOutcome) => batch.targets.map(() => outcome)
  const storing = vendorVStored(batch)
  if ('kind' in storing) return all(storing)
  const stored = await call(storing)
  const taskId = vendorVTaskId(stored)
  if (taskId === null) return all(vendorVRefusal(stored))
  const outcomes = vendorVOutcomes(await call(vendorVList(batch, taskId)), batch)
  // The answer about the list names its request; receipts name the stored message.
  return outcomes.map((outcome) =>
    outcome.kind === 'accepted' ? { ...outcome, messageId: taskId } : outcome,
  )
}
