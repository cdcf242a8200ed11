import {
  AppError,
  acceptContact,
  applyToContact,
  applyToContacts,
  declineContact,
  type Int64,
  listContactRequests,
  type ParamsOf,
} from '@hermod/protocol'
import type { NewContactRequest } from '../../domain/contacts/contact-request-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { rawUserId, validOnly } from '../item-list.js'
import type { HandlerServices } from '../services.js'

export function contactRequestHandlers({
  contactRequests,
}: Pick<HandlerServices, 'contactRequests'>): Handler[] {
  return [
    handle(applyToContact, (params, { principal }) =>
      whenDone(contactRequests.apply(principal, toNewContactRequest(params))),
    ),
    handle(applyToContacts, async ({ list }, { principal }) => {
      const requests = validOnly(list).map(toNewContactRequest)
      const reasons = (await contactRequests.applyMany(principal, requests)).values()
      const outcomes = list.map((item) => {
        if ('violation' in item)
          return {
            user_id: rawUserId(item),
            reason: new AppError('invalid_parameter', item.violation).message,
          }
        return { user_id: item.value.user_id, reason: reasons.next().value ?? null }
      })
      return data({
        success: outcomes.flatMap(({ user_id, reason }) => (reason === null ? [user_id] : [])),
        fails: outcomes.flatMap(({ user_id, reason }) =>
          reason === null ? [] : [{ user_id, reason }],
        ),
      })
    }),
    handle(listContactRequests, async (page, { principal }) => {
      const { received, nextCursor, version } = await contactRequests.list(principal, page)
      return {
        data: received.map(({ applicantId, expiresAt, reason, status }) => ({
          expired_time: expiresAt,
          reason,
          status,
          user_id: applicantId,
        })),
        extras: { version, ...(nextCursor === null ? {} : { cursor: nextCursor }) },
      }
    }),
    handle(acceptContact, ({ user_id: applicantId }, { principal }) =>
      whenDone(contactRequests.accept(principal, applicantId)),
    ),
    handle(declineContact, ({ user_id: applicantId, reason = '' }, { principal }) =>
      whenDone(contactRequests.decline(principal, applicantId, reason)),
    ),
  ]
}

type ContactRequestParams = Partial<ParamsOf<typeof applyToContact>> & { readonly user_id: Int64 }

function toNewContactRequest({
  user_id: userId,
  alias,
  reason,
  auth_answer: authAnswer,
}: ContactRequestParams): NewContactRequest {
  return { userId, alias, reason, authAnswer }
}
