import {
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
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function contactHandlers({
  contacts,
  messageRules,
}: {
  readonly contacts: ContactService
  readonly messageRules: MessageRules
}): Handler[] {
  return [
    handle(listContacts, async (page, { principal }) => {
      const { userIds, nextCursor, version } = await contacts.list(principal, page)
      return {
        data: [...userIds],
        extras: { version, ...(nextCursor === null ? {} : { cursor: nextCursor }) },
      }
    }),
    handle(findContacts, async ({ list }, { principal }) => {
      const entries = await contacts.findMany(principal, list)
      return data(entries.map(toRosterEntry))
    }),
    handle(listContactNames, async (_, { principal }) => {
      const names = await contacts.listNames(principal)
      return data(names.map(({ userId, name }) => ({ user_id: userId, name })))
    }),
    handle(findUserById, async ({ user_id: userId }, { principal }) =>
      data(toRosterEntry(await contacts.get(principal, { userId }))),
    ),
    handle(findUserByUsername, async ({ username }, { principal: { appId, actorId } }) =>
      data(toRosterEntry(await contacts.get({ appId, userId: actorId }, { username }))),
    ),
    handle(findUserByMobile, async ({ mobile }, { principal }) =>
      data(toRosterEntry(await contacts.getByMobile(principal, mobile))),
    ),
    handle(
      updateContact,
      ({ user_id: peerId, alias, ext, mute_notification: isMuted }, { principal }) =>
        whenDone(contacts.update(principal, peerId, { alias, ext, isMuted })),
    ),
    handle(deleteContact, ({ user_id: peerId }, { principal }) =>
      whenDone(contacts.delete(principal, peerId)),
    ),
    handle(blockUser, ({ user_id: peerId }, { principal }) =>
      whenDone(contacts.block(principal, peerId)),
    ),
    handle(unblockUser, ({ user_id: peerId }, { principal }) =>
      whenDone(contacts.unblock(principal, peerId)),
    ),
    handle(listBlockedUsers, async (_, { principal }) =>
      data(await contacts.listBlocked(principal)),
    ),
    handle(addContacts, ({ list }, { principal }) => whenDone(contacts.add(principal, list))),
    handle(mayMessage, async ({ user_id: senderId, roster_id: recipientId }, { principal }) =>
      data(await messageRules.mayMessage(principal.appId, senderId, recipientId)),
    ),
  ]
}

function toRosterEntry(entry: ContactEntry): RosterEntry {
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
    is_bot: entry.isBot,
  }
}
