import {
  AppError,
  addContacts,
  blockUser,
  deleteContact,
  findContacts,
  findUserById,
  findUserByMobile,
  findUserByUsername,
  listBlockedUsers,
  listContactNames,
  listContacts,
  mayMessage,
  type RosterEntry,
  unblockUser,
  updateContact,
} from '@hermod/protocol'
import { type ContactEntry, relationOf } from '../../domain/contacts/contact-model.js'
import type { ContactService } from '../../domain/contacts/contact-service.js'
import type { MessageRules } from '../../domain/contacts/message-rules.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly contacts: ContactService
  readonly messageRules: MessageRules
}

export function contactHandlers({ accounts, contacts, messageRules }: Services): Handler[] {
  return [
    handle(listContacts, async (page, { caller }) => {
      const { userIds, nextCursor, version } = await contacts.list(
        await actingUser(accounts, caller),
        page,
      )
      return {
        data: [...userIds],
        extras: { version, ...(nextCursor === null ? {} : { cursor: nextCursor }) },
      }
    }),
    handle(findContacts, async ({ list }, { caller }) => {
      const entries = await contacts.findMany(await actingUser(accounts, caller), list)
      return data(entries.map(toEntry))
    }),
    handle(listContactNames, async (_, { caller }) => {
      const names = await contacts.listNames(await actingUser(accounts, caller))
      return data(names.map(({ userId, name }) => ({ user_id: userId, name })))
    }),
    handle(findUserById, async ({ user_id: userId }, { caller }) =>
      data(toEntry(await contacts.get(await actingUser(accounts, caller), { userId }))),
    ),
    handle(findUserByUsername, async ({ username }, { caller }) =>
      data(toEntry(await contacts.get(await actingUser(accounts, caller), { username }))),
    ),
    handle(findUserByMobile, async ({ mobile }, { caller }) =>
      data(toEntry(await contacts.get(await actingUser(accounts, caller), { mobile }))),
    ),
    handle(
      updateContact,
      async ({ user_id: peerId, alias, ext, mute_notification: isMuted }, { caller }) => {
        await contacts.update(await actingUser(accounts, caller), peerId, { alias, ext, isMuted })
        return data(true)
      },
    ),
    handle(deleteContact, async ({ user_id: peerId }, { caller }) => {
      await contacts.delete(await actingUser(accounts, caller), peerId)
      return data(true)
    }),
    handle(blockUser, async ({ user_id: peerId }, { caller }) => {
      await contacts.block(await actingUser(accounts, caller), peerId)
      return data(true)
    }),
    handle(unblockUser, async ({ user_id: peerId }, { caller }) => {
      await contacts.unblock(await actingUser(accounts, caller), peerId)
      return data(true)
    }),
    handle(listBlockedUsers, async (_, { caller }) =>
      data(await contacts.listBlocked(await actingUser(accounts, caller))),
    ),
    handle(addContacts, async ({ list }, { caller }) => {
      await contacts.add(await actingUser(accounts, caller), list)
      return data(true)
    }),
    handle(mayMessage, async ({ user_id: senderId, roster_id: recipientId }, { caller }) => {
      const isOneOfThem =
        caller.kind === 'user' && (caller.userId === senderId || caller.userId === recipientId)
      if (caller.kind !== 'admin' && !isOneOfThem)
        throw new AppError('no_permission', 'neither user_id nor roster_id is the caller')
      return data(await messageRules.mayMessage(caller.appId, senderId, recipientId))
    }),
  ]
}

function toEntry(entry: ContactEntry): RosterEntry {
  return {
    alias: entry.alias,
    auth_mode: entry.authMode,
    auth_question: entry.authQuestion,
    avatar: entry.avatar,
    description: entry.description,
    ext: entry.ext,
    mute_notification: entry.isMuted,
    nick_name: entry.nickName,
    public_info: entry.publicInfo,
    relation: relationOf(entry),
    user_id: entry.userId,
    username: entry.username,
  }
}
