/** The call that sends an unsent entry, and what its outcome means. */
import { type Failure, badAnswer } from '../../errors.js'
import type { UnsentRecord } from '../../model/records.js'
import type { CallOutcome } from '../core-context.js'
import { isLoggedOut, isRepeated } from '../outcomes.js'

/** Values of the contract. */
const [userTarget, groupTarget] = [1, 2]
const replace = 12

/**
 * - `stored`: the server has the message; `msgId` 0: the answer had none
 * - `refused`: no repeat changes it
 * - `unknown`: the call may have run; it is repeated
 * - `notRun`: the call was not sent, or was refused before it began
 */
export type SendOutcome =
  | { readonly type: 'stored'; readonly msgId: number }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'unknown' | 'notRun'; readonly failure: Failure | undefined }

/** Returns what the outcome of a call means for its entry. */
export function sendOutcomeOf(outcome: CallOutcome): SendOutcome {
  const failure = sendRefusal(outcome)
  if (outcome.type === 'answer' && !failure) {
    const [msgId] = (outcome.answer.msg_ids as number[] | undefined) ?? []
    return { type: 'stored', msgId: Number(msgId) || 0 }
  }
  if (failure && !isRepeated(failure)) return { type: 'refused', failure }
  return { type: hasRun(outcome, failure) ? 'unknown' : 'notRun', failure }
}

/** True: a message that is edited or recalled is not there for the user any more. */
export const isGone = ({ name }: Pick<Failure, 'name'>) =>
  /^(message|conversation|group)_not_found$|^not_group_member$|^member_required$/.test(name)

/** Returns the call that sends an entry. The sender is named for sessions of Admin tokens. */
export function sendCall(entry: UnsentRecord, me: number) {
  const { alters, isGroup, conversationId, content, transactionId } = entry
  if (alters?.kind === 'recall') {
    const data = { conversation_id: conversationId, msg_id: alters.msgId }
    return { op: 'message.recall', data }
  }
  const { contentType, attachment, config, ext } = entry
  const data = {
    type: isGroup ? groupTarget : userTarget,
    targets: [conversationId],
    content,
    ...(alters
      ? { content_type: replace, related_mid: alters.msgId, edit_timestamp: alters.seenEdit }
      : { content_type: contentType, attachment, config, ext }),
    transaction_id: transactionId,
    from_user_id: me,
    ...(entry.replyTo && { reply_to: entry.replyTo.msgId }),
  }
  return { op: 'message.send', data }
}

/** Returns why the outcome is no success; undefined for one, and for no answer. */
function sendRefusal(outcome: CallOutcome): Failure | undefined {
  if (outcome.type === 'lost') return undefined
  if (outcome.type === 'failure') return outcome.failure
  const { data, fails } = outcome.answer
  const [refusal] = Array.isArray(fails) ? fails : []
  if (refusal)
    return { code: refusal.code, name: 'refused', message: String(refusal.reason), retry: false }
  return data === true ? undefined : badAnswer('message.send')
}

function hasRun(outcome: CallOutcome, failure: Failure | undefined): boolean {
  if (outcome.type === 'lost') return outcome.isSent
  if (!failure) return true
  return !isLoggedOut(failure) && !['too_many_requests', 'too_many_calls'].includes(failure.name)
}
