/** Types of events for apps. Written by `npm run docs`; do not edit. */
import type { ConversationRef } from './api/conversation.js'
import type { MemberRole, MuteMode, PushMode } from './api/groups.js'
import type { MessageContent } from './api/message.js'

/** Payload of each kind of event that devices get. */
export interface ClientEvents {
  readonly 'contact.added': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.accepted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The reason of the asking or declining user; "" = none. */
    readonly reason: string
  }
  readonly 'contact.blocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.unblocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.applied': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The reason of the asking or declining user; "" = none. */
    readonly reason: string
  }
  readonly 'contact.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The new values of what the actor changed about the contact. */
    readonly changed: {
      readonly alias?: string
      readonly ext?: string
    }
  }
  readonly 'contact.user_removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.muted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'contact.unmuted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'conversation.pinned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The other user, or the group. */
    readonly conversationId: number
  }
  readonly 'conversation.unpinned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The other user, or the group. */
    readonly conversationId: number
  }
  readonly 'conversation.deleted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** Messages up to this one are hidden. */
    readonly hiddenMessageId: number
    /** Messages up to this position are not unread. */
    readonly seq: number
  }
  readonly 'group.presence': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /**
     * In groups above 200 members, where the events of a second are sent as one: the number of
     * users. user_ids is empty above 100.
     */
    readonly count?: number
    /**
     * The version before the first of the events that are sent together; present with count. A
     * client that has it, or a later one, has missed nothing.
     */
    readonly sinceVersion?: number
  }
  readonly 'group.absence': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /**
     * In groups above 200 members, where the events of a second are sent as one: the number of
     * users. user_ids is empty above 100.
     */
    readonly count?: number
    /**
     * The version before the first of the events that are sent together; present with count. A
     * client that has it, or a later one, has missed nothing.
     */
    readonly sinceVersion?: number
  }
  readonly 'group.created': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** true: new members see messages from before they joined */
    readonly isHistoryVisible: boolean
  }
  readonly 'group.destroyed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** updated_at of the group, milliseconds since 1970. */
    readonly updatedAt: number
  }
  readonly 'group.joined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /**
     * In groups above 200 members, where the events of a second are sent as one: the number of
     * users. user_ids is empty above 100.
     */
    readonly count?: number
    /**
     * The version before the first of the events that are sent together; present with count. A
     * client that has it, or a later one, has missed nothing.
     */
    readonly sinceVersion?: number
    /** The number of members after the event. */
    readonly memberCount: number
    /**
     * When they joined, milliseconds since 1970. Absent where the members have to be read: one of
     * them is still banned or a program, or events of several times are sent as one.
     */
    readonly joinedAt?: number
    /** The end of the group's log at the join. */
    readonly log: {
      /** The number of the last change. */
      readonly change: number
      /** The position of the last message. */
      readonly seq: number
      /** The ID of the last message; 0 = none. */
      readonly messageId: number
    }
    /** true: new members see messages from before they joined */
    readonly isHistoryVisible: boolean
  }
  readonly 'group.left': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /**
     * In groups above 200 members, where the events of a second are sent as one: the number of
     * users. user_ids is empty above 100.
     */
    readonly count?: number
    /**
     * The version before the first of the events that are sent together; present with count. A
     * client that has it, or a later one, has missed nothing.
     */
    readonly sinceVersion?: number
    /** The number of members after the event. */
    readonly memberCount: number
  }
  readonly 'group.applied': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The text of the asking or inviting user; "" = nothing. */
    readonly reason: string
  }
  readonly 'group.request_accepted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.request_declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.invited': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The text of the asking or inviting user; "" = nothing. */
    readonly reason: string
  }
  readonly 'group.invitation_accepted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.invitation_declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.kicked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The number of members after the event. */
    readonly memberCount: number
  }
  readonly 'group.blocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The number of members after the event. */
    readonly memberCount: number
  }
  readonly 'group.unblocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.owner_assigned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** Now an ordinary member, or deleted. */
    readonly formerOwnerId: number
    /** The role of the users now. */
    readonly role: MemberRole
    /** The end of the ban, milliseconds since 1970; 0: none, infinite: permanent. */
    readonly bannedUntil: number
    /** updated_at of the group, milliseconds since 1970. */
    readonly updatedAt: number
  }
  readonly 'group.admin_granted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The role of the users now. */
    readonly role: MemberRole
  }
  readonly 'group.admin_revoked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The role of the users now. */
    readonly role: MemberRole
  }
  readonly 'group.muted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.unmuted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.banned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** For how long; -1 = permanently. */
    readonly minutes: number
    /** The end of the ban, milliseconds since 1970; 0: none, infinite: permanent. */
    readonly bannedUntil: number
  }
  readonly 'group.unbanned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The end of the ban, milliseconds since 1970; 0: none, infinite: permanent. */
    readonly bannedUntil: number
  }
  readonly 'group.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /**
     * The field that changed, for example display_name; "" with the value "" once the member that
     * it names is deleted.
     */
    readonly property: string
    /**
     * The new value. Absent for members who may not see it: only the version is for them, and there
     * is nothing to read again.
     */
    readonly value?: string | number | boolean
    /**
     * true: hide_member_info hides the value from ordinary members other than the named one. Absent
     * otherwise.
     */
    readonly isHidden?: boolean
    /** updated_at of the group, milliseconds since 1970; absent for properties of a member. */
    readonly updatedAt?: number
  }
  readonly 'group.announcement_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly announcementId: number
    /** Its title. */
    readonly title: string
    /** false: published; true: deleted */
    readonly isDeleted: boolean
  }
  readonly 'group.message_setting': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The settings that the member changed. */
    readonly setting: {
      readonly muteMode?: MuteMode
      readonly pushMode?: PushMode
    }
  }
  readonly 'group.file_uploaded': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly fileId: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'group.file_deleted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly fileId: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'group.file_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly groupId: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly fileId: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'user.password_changed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'user.frozen': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'user.removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
  }
  readonly 'user.kicked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** Absent: every device. */
    readonly deviceSn?: number
  }
  readonly 'user.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The fields that changed. */
    readonly properties: readonly string[]
    /** Their new values; empty once the user is deleted. */
    readonly changed: {
      readonly avatar?: string
      readonly description?: string
      readonly email?: string
      readonly mobile?: string
      readonly nickname?: string
      readonly privateInfo?: string
      readonly publicInfo?: string
      readonly username?: string
    }
  }
  readonly 'user.settings_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The settings that were set,; or push_tags. */
    readonly properties: readonly string[]
  }
  readonly 'user.identity_linked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly issuer: string
    readonly subject: string
  }
  readonly 'user.identity_unlinked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly issuer: string
    readonly subject: string
  }
  readonly 'user.device_logged_in': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly deviceSn: number
  }
  readonly 'user.device_added': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly deviceSn: number
  }
  readonly 'user.device_removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly deviceSn: number
  }
  readonly 'user.device_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    readonly deviceSn: number
  }
  readonly 'message.stored': MessageContent & {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly senderId: number
    /** The device of the sender; 0 = not known. */
    readonly senderDeviceSn: number
    /** true: a system notification */
    readonly isSystem: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly editTimestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transactionId?: string
    /** The message of the same conversation that it replies to. */
    readonly replyTo?: {
      /** ID of the original */
      readonly messageId: number
      /** position of the original in the log */
      readonly seq: number
    }
    /** in the order of their first use; absent without any */
    readonly reactions?: readonly {
      /** what the first user wrote, such as an emoji */
      readonly key: string
      /** how many users */
      readonly count: number
      /** at most 5 of them, the latest last */
      readonly latest: readonly number[]
    }[]
    /** The user who pinned a message, and the time. */
    readonly pinned?: {
      /** the user; 0 = an administrator */
      readonly by: number
      /** when, ms */
      readonly at: number
    }
    /** The state of a message that is written piece by piece (rule E19). */
    readonly stream?: {
      /** how the text is to be shown */
      readonly kind: 'text' | 'markdown'
      /**
       * open: more text follows; interrupted: the service ended it, because nothing came for too
       * long or the sender may not write any more
       */
      readonly state: 'open' | 'done' | 'failed' | 'cancelled' | 'interrupted'
      /** what the sender gave as the reason of the end */
      readonly reason?: string
      /** the index of the next append; in answers while it is open */
      readonly nextIndex?: number
      /**
       * the text so far; in answers to one user while it is open, never in events. Absent where a
       * page would be too large: /message/get has it
       */
      readonly text?: string
    }
  }
  readonly 'change.skipped': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The position of the message, which counts as present although it is gone. */
    readonly seq?: number
    /** The sender of a recalled message; 0 = the system. */
    readonly senderId?: number
    /** true: a system notification was recalled */
    readonly isSystem?: boolean
  }
  readonly 'message.read': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The newest message up to the position; 0 = none is left. */
    readonly messageId: number
    /** The position. Marks only grow: the greatest one counts. */
    readonly seq: number
  }
  readonly 'message.recalled': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly senderId: number
    /** true: a system notification */
    readonly isSystem: boolean
    /** When it was recalled, milliseconds since 1970. */
    readonly timestamp: number
  }
  readonly 'message.appended': MessageContent & {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly senderId: number
    /** The device of the sender; 0 = not known. */
    readonly senderDeviceSn: number
    /** true: a system notification */
    readonly isSystem: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly editTimestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transactionId?: string
    /** The message of the same conversation that it replies to. */
    readonly replyTo?: {
      /** ID of the original */
      readonly messageId: number
      /** position of the original in the log */
      readonly seq: number
    }
    /** in the order of their first use; absent without any */
    readonly reactions?: readonly {
      /** what the first user wrote, such as an emoji */
      readonly key: string
      /** how many users */
      readonly count: number
      /** at most 5 of them, the latest last */
      readonly latest: readonly number[]
    }[]
    /** The user who pinned a message, and the time. */
    readonly pinned?: {
      /** the user; 0 = an administrator */
      readonly by: number
      /** when, ms */
      readonly at: number
    }
    /** The state of a message that is written piece by piece (rule E19). */
    readonly stream?: {
      /** how the text is to be shown */
      readonly kind: 'text' | 'markdown'
      /**
       * open: more text follows; interrupted: the service ended it, because nothing came for too
       * long or the sender may not write any more
       */
      readonly state: 'open' | 'done' | 'failed' | 'cancelled' | 'interrupted'
      /** what the sender gave as the reason of the end */
      readonly reason?: string
      /** the index of the next append; in answers while it is open */
      readonly nextIndex?: number
      /**
       * the text so far; in answers to one user while it is open, never in events. Absent where a
       * page would be too large: /message/get has it
       */
      readonly text?: string
    }
  }
  readonly 'message.replaced': MessageContent & {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly senderId: number
    /** The device of the sender; 0 = not known. */
    readonly senderDeviceSn: number
    /** true: a system notification */
    readonly isSystem: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly editTimestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transactionId?: string
    /** The message of the same conversation that it replies to. */
    readonly replyTo?: {
      /** ID of the original */
      readonly messageId: number
      /** position of the original in the log */
      readonly seq: number
    }
    /** in the order of their first use; absent without any */
    readonly reactions?: readonly {
      /** what the first user wrote, such as an emoji */
      readonly key: string
      /** how many users */
      readonly count: number
      /** at most 5 of them, the latest last */
      readonly latest: readonly number[]
    }[]
    /** The user who pinned a message, and the time. */
    readonly pinned?: {
      /** the user; 0 = an administrator */
      readonly by: number
      /** when, ms */
      readonly at: number
    }
    /** The state of a message that is written piece by piece (rule E19). */
    readonly stream?: {
      /** how the text is to be shown */
      readonly kind: 'text' | 'markdown'
      /**
       * open: more text follows; interrupted: the service ended it, because nothing came for too
       * long or the sender may not write any more
       */
      readonly state: 'open' | 'done' | 'failed' | 'cancelled' | 'interrupted'
      /** what the sender gave as the reason of the end */
      readonly reason?: string
      /** the index of the next append; in answers while it is open */
      readonly nextIndex?: number
      /**
       * the text so far; in answers to one user while it is open, never in events. Absent where a
       * page would be too large: /message/get has it
       */
      readonly text?: string
    }
  }
  readonly 'message.updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /**
     * Whole fields of the message with their new values; null removes one. Later versions have more
     * of them.
     */
    readonly set: {
      readonly reactions?:
        | readonly {
            /** what the first user wrote, such as an emoji */
            readonly key: string
            /** how many users */
            readonly count: number
            /** at most 5 of them, the latest last */
            readonly latest: readonly number[]
          }[]
        | null
      readonly pinned?: {
        /** the user; 0 = an administrator */
        readonly by: number
        /** when, ms */
        readonly at: number
      } | null
      readonly stream?: {
        /** how the text is to be shown */
        readonly kind: 'text' | 'markdown'
        /**
         * open: more text follows; interrupted: the service ended it, because nothing came for too
         * long or the sender may not write any more
         */
        readonly state: 'open' | 'done' | 'failed' | 'cancelled' | 'interrupted'
        /** what the sender gave as the reason of the end */
        readonly reason?: string
        /** the index of the next append; in answers while it is open */
        readonly nextIndex?: number
        /**
         * the text so far; in answers to one user while it is open, never in events. Absent where a
         * page would be too large: /message/get has it
         */
        readonly text?: string
      } | null
    }
    /** The reactions that users have added and removed. */
    readonly reacted?: readonly {
      readonly userId: number
      /** The reaction. */
      readonly key: string
      /** true: added; false: removed */
      readonly on: boolean
    }[]
  }
  readonly 'message.delivered': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actorId: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly userIds: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The newest message up to the position; 0 = none is left. */
    readonly messageId: number
    /** The position. Marks only grow: the greatest one counts. */
    readonly seq: number
  }
  readonly presence: {
    readonly users: readonly {
      /** user ID */
      readonly userId: number
      /** a device of the user is connected, or was 10 seconds ago */
      readonly online: boolean
    }[]
  }
  readonly typing: {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    readonly userId: number
    readonly state: 'typing' | 'nothing'
  }
  readonly 'message.delta': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    readonly messageId: number
    /** the index of the last append in it */
    readonly index: number
    /** where it begins in the text so far, in UTF-16 units */
    readonly offset: number
    /** the appended text */
    readonly text: string
  }
  readonly 'stream.cancel': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    readonly messageId: number
    /** who asks */
    readonly userId: number
  }
  readonly activity: {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    readonly userId: number
    /** such as thinking or searching; "": nothing any more */
    readonly state: string
    /** more about it; "" for none */
    readonly text: string
  }
  readonly 'message.transient': MessageContent & {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: ConversationRef
    /** The message ID. */
    readonly messageId: number
    /** The sender; 0 = the system. */
    readonly senderId: number
    /** The device of the sender; 0 = not known. */
    readonly senderDeviceSn: number
    /** true: a system notification */
    readonly isSystem: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly editTimestamp: number
  }
  readonly 'push.notification': {
    /** for push.received and /push/report */
    readonly taskId: number
    /** cmd: for the app, never displayed */
    readonly kind: 'text' | 'image' | 'cmd'
    /** title; "" for none */
    readonly title: string
    /** text; "" for none */
    readonly body: string
    /** long text in place of body; "" for none */
    readonly bigText: string
    /** URL of an image, audio or video; "" for none */
    readonly attachmentUrl: string
    /** number to show; absent: the badge stays */
    readonly badge?: number
    /** members for the app */
    readonly ext?: Readonly<Record<string, unknown>>
    /** true: without sound and vibration */
    readonly isSilent: boolean
    /** not to be shown later, milliseconds since 1970 */
    readonly expiresAt: number
  }
}
