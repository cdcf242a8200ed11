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
import type {
  ContactRequestService,
  NewContactRequest,
} from '../../domain/contacts/contact-request-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'
import { rawUserId, validOnly } from '../item-list.js'

interface Services {
  readonly accounts: AccountService
  readonly contactRequests: ContactRequestService
}

export function contactRequestHandlers({ accounts, contactRequests }: Services): Handler[] {
  return [
    handle(applyToContact, async (params, { caller }) => {
      await contactRequests.apply(await actingUser(accounts, caller), toRequest(params))
      return data(true)
    }),
    handle(applyToContacts, async ({ list }, { caller }) => {
      const requests = validOnly(list).map(toRequest)
      const reasons = (
        await contactRequests.applyMany(await actingUser(accounts, caller), requests)
      ).values()
      const outcomes = list.map((item) => {
        if ('fault' in item)
          return {
            user_id: rawUserId(item),
            reason: new AppError('invalid_parameter', item.fault).message,
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
    handle(listContactRequests, async (page, { caller }) => {
      const { received, nextCursor, version } = await contactRequests.list(
        await actingUser(accounts, caller),
        page,
      )
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
    handle(acceptContact, async ({ user_id: applicantId }, { caller }) => {
      await contactRequests.accept(await actingUser(accounts, caller), applicantId)
      return data(true)
    }),
    handle(declineContact, async ({ user_id: applicantId, reason = '' }, { caller }) => {
      await contactRequests.decline(await actingUser(accounts, caller), applicantId, reason)
      return data(true)
    }),
  ]
}

type Params = Partial<ParamsOf<typeof applyToContact>> & { readonly user_id: Int64 }

function toRequest({
  user_id: userId,
  alias,
  reason,
  auth_answer: authAnswer,
}: Params): NewContactRequest {
  return { userId, alias, reason, authAnswer }
}
