import type { LoadResult } from '../load/load-run.js'
import type { GroupSendPlan, RandomSendPlan, SendPlan } from '../load/plan.js'
import { load } from '../load/processes.js'

const connections = 64

/**
 * Sends all requests of a plan.
 * @throws Error when one of them fails
 */
export async function fill(
  port: number,
  plan: (SendPlan | GroupSendPlan | RandomSendPlan) & { readonly requests: number },
): Promise<LoadResult> {
  const order = { port, plan, connections, warmUpMs: 0, measureMs: null, minBodyBytes: 0 }
  const result = await load(order)
  const { errors, errorSamples, succeeded } = result
  if (errors > 0 || succeeded !== plan.requests)
    throw new Error(`filling failed ${errors} times: ${errorSamples.join('\n')}`)
  return result
}
