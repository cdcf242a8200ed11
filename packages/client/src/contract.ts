/** Types of the contract for apps. Written by `npm run docs`; do not edit. */

/** A group with its settings. */
export interface GroupRecord {
  /** how join requests are answered: 0 agree all, 1 needs Admin confirmation, 2 reject all */
  readonly apply_approval: 0 | 1 | 2
  /** group avatar */
  readonly avatar: string
  /**
   * seconds; until then only Admins may send messages; 0 or earlier than now: no ban; -1: permanent
   */
  readonly ban_expire_time: number
  /** group capacity */
  readonly capacity: number
  /** current member count */
  readonly count: number
  /** creation time, ms */
  readonly created_at: number
  /** description */
  readonly description: string
  /** extension information */
  readonly ext: string
  /** group ID */
  readonly group_id: number
  /** true hides member details, false shows them */
  readonly hide_member_info: boolean
  /** true: new members see chat history; false: they do not */
  readonly history_visible: boolean
  /** true: members may invite others; false: not */
  readonly member_invite: boolean
  /** true: members may modify group information; false: not */
  readonly member_modify: boolean
  /**
   * of the caller: 0 not blocking, 1 block local message notifications, 2 block messages (not
   * received)
   */
  readonly msg_mute_mode: 0 | 1 | 2
  /**
   * of the caller: 0 all pushes, 1 no pushes, 2 Admin and @message pushes, 3 only Admin pushes, 4
   * only @message pushes
   */
  readonly msg_push_mode: 0 | 1 | 2 | 3 | 4
  /** group name */
  readonly name: string
  /** owner ID */
  readonly owner_id: number
  /** true enables the read function of group messages */
  readonly read_ack: boolean
  /** 0 normal, 1 dissolved */
  readonly status: 0 | 1
  /** 0 private group, 1 public group, 2 chatroom, 3 temporary group */
  readonly type: 0 | 1 | 2 | 3
  /** update time, ms */
  readonly updated_at: number
  /** number of changes that all members see, as in events */
  readonly version: number
}

/** A group in a list of groups. */
export interface GroupSummary {
  /** how join requests are answered: 0 agree all, 1 needs Admin confirmation, 2 reject all */
  readonly apply_approval: 0 | 1 | 2
  /** group avatar */
  readonly avatar: string
  /**
   * seconds; until then only Admins may send messages; 0 or earlier than now: no ban; -1: permanent
   */
  readonly ban_expire_time: number
  /** group capacity */
  readonly capacity: number
  /** current member count */
  readonly count: number
  /** creation time, ms */
  readonly created_at: number
  /** description */
  readonly description: string
  /** extension information */
  readonly ext: string
  /** group ID */
  readonly group_id: number
  /** true hides member details, false shows them */
  readonly hide_member_info: boolean
  /** true: new members see chat history; false: they do not */
  readonly history_visible: boolean
  /** true: members may invite others; false: not */
  readonly member_invite: boolean
  /** true: members may modify group information; false: not */
  readonly member_modify: boolean
  /**
   * of the caller: 0 not blocking, 1 block local message notifications, 2 block messages (not
   * received)
   */
  readonly msg_mute_mode: 0 | 1 | 2
  /**
   * of the caller: 0 all pushes, 1 no pushes, 2 Admin and @message pushes, 3 only Admin pushes, 4
   * only @message pushes
   */
  readonly msg_push_mode: 0 | 1 | 2 | 3 | 4
  /** group name */
  readonly name: string
  /** owner ID */
  readonly owner_id: number
  /** true enables the read function of group messages */
  readonly read_ack: boolean
  /** 0 normal, 1 dissolved */
  readonly status: 0 | 1
  /** 0 private group, 1 public group, 2 chatroom, 3 temporary group */
  readonly type: 0 | 1 | 2 | 3
  /** update time, ms */
  readonly updated_at: number
  /** number of changes that all members see, as in events */
  readonly version: number
  /** the same as owner_id */
  readonly owner: number
}

/** A member of a group with its role. */
export interface GroupMemberInfo {
  /** name of the member in this group */
  readonly display_name: string
  /** ban expiration; 0 not banned, -1 permanent, ms */
  readonly expired_time: number
  /** when the user joined, ms */
  readonly join_time: number
  /** user ID */
  readonly user_id: number
  /** 0 member, 1 admin, 2 owner */
  readonly role: 0 | 1 | 2
}

/** A request to become a contact. */
export interface RosterApplication {
  /** when the request expires, ms */
  readonly expired_time: number
  /** text given by the applicant */
  readonly reason: string
  /** 0 waiting, 1 accepted, 2 rejected */
  readonly status: 0 | 1 | 2
  /** applicant */
  readonly user_id: number
}

/** A user as the caller sees them. */
export interface RosterEntry {
  /** remark name the caller gave this user */
  readonly alias: string
  /**
   * friend-add verification of that user: 0 anyone can add, 1 consent required, 2 question answered
   * correctly, 3 all refused
   */
  readonly auth_mode: 0 | 1 | 2 | 3
  /** verification question of that user (the answer is never returned) */
  readonly auth_question: string
  /** avatar URL or stored object name */
  readonly avatar: string
  /** description */
  readonly description: string
  /** extension data the caller stored on this contact */
  readonly ext: string
  /** true: the caller silenced message notifications of this contact */
  readonly mute_notification: boolean
  /** nickname */
  readonly nick_name: string
  /** public extension information */
  readonly public_info: string
  /** 0 contact, 1 deleted (former contact), 2 stranger, 3 blocked */
  readonly relation: 0 | 1 | 2 | 3
  /** user ID of that user */
  readonly user_id: number
  /** username */
  readonly username: string
}

/** The profile of a user, as that user sees it. */
export interface UserProfile {
  /** avatar URL */
  readonly avatar: string
  /** description */
  readonly description: string
  /** e-mail */
  readonly email: string
  /** mobile number */
  readonly mobile: string
  /** nickname */
  readonly nick_name: string
  /** private information, visible only to the user */
  readonly private_info: string
  /** public information, visible to contacts and strangers */
  readonly public_info: string
  /** user ID */
  readonly user_id: number
  /** username */
  readonly username: string
}

/** Payload of each kind of event that devices get. */
export interface ClientEvents {
  readonly 'contact.added': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.accepted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The reason of the asking or declining user; "" = none. */
    readonly reason: string
  }
  readonly 'contact.blocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.unblocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.applied': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The reason of the asking or declining user; "" = none. */
    readonly reason: string
  }
  readonly 'contact.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The new values of what the actor changed about the contact. */
    readonly changed: {
      readonly alias?: string
      readonly ext?: string
    }
  }
  readonly 'contact.user_removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.muted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'contact.unmuted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'conversation.pinned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The other user, or the group. */
    readonly conversation_id: number
  }
  readonly 'conversation.unpinned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The other user, or the group. */
    readonly conversation_id: number
  }
  readonly 'conversation.deleted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** Messages up to this one are hidden. */
    readonly hidden_msg_id: number
    /** Messages up to this position are not unread. */
    readonly seq: number
  }
  readonly 'group.presence': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly since_version?: number
  }
  readonly 'group.absence': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly since_version?: number
  }
  readonly 'group.created': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** true: new members see messages from before they joined */
    readonly history_visible: boolean
  }
  readonly 'group.destroyed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** updated_at of the group, milliseconds since 1970. */
    readonly updated_at: number
  }
  readonly 'group.joined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly since_version?: number
    /** The number of members after the event. */
    readonly member_count: number
    /**
     * When they joined, milliseconds since 1970. Absent where the members have to be read: one of
     * them is still banned, or events of several times are sent as one.
     */
    readonly join_time?: number
    /** The end of the group's log at the join. */
    readonly log: {
      /** The number of the last change. */
      readonly change: number
      /** The position of the last message. */
      readonly seq: number
      /** The ID of the last message; 0 = none. */
      readonly msg_id: number
    }
    /** true: new members see messages from before they joined */
    readonly history_visible: boolean
  }
  readonly 'group.left': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly since_version?: number
    /** The number of members after the event. */
    readonly member_count: number
  }
  readonly 'group.applied': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.request_declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.invited': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.invitation_declined': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.kicked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The number of members after the event. */
    readonly member_count: number
  }
  readonly 'group.blocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The number of members after the event. */
    readonly member_count: number
  }
  readonly 'group.unblocked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.owner_assigned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** Now an ordinary member, or deleted. */
    readonly former_owner_id: number
    /** The role of the users now.: 0 member, 1 admin, 2 owner */
    readonly role: 0 | 1 | 2
    /** The end of the ban, milliseconds since 1970; 0 = none, -1 = permanent. */
    readonly expired_time: number
    /** updated_at of the group, milliseconds since 1970. */
    readonly updated_at: number
  }
  readonly 'group.admin_granted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The role of the users now.: 0 member, 1 admin, 2 owner */
    readonly role: 0 | 1 | 2
  }
  readonly 'group.admin_revoked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The role of the users now.: 0 member, 1 admin, 2 owner */
    readonly role: 0 | 1 | 2
  }
  readonly 'group.muted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.unmuted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
  }
  readonly 'group.banned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** For how long; -1 = permanently. */
    readonly minutes: number
    /** The end of the ban, milliseconds since 1970; 0 = none, -1 = permanent. */
    readonly expired_time: number
  }
  readonly 'group.unbanned': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The end of the ban, milliseconds since 1970; 0 = none, -1 = permanent. */
    readonly expired_time: number
  }
  readonly 'group.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
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
    readonly is_hidden?: boolean
    /** updated_at of the group, milliseconds since 1970; absent for properties of a member. */
    readonly updated_at?: number
  }
  readonly 'group.announcement_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly announcement_id: number
    /** Its title. */
    readonly title: string
    /** false: published; true: deleted */
    readonly is_deleted: boolean
  }
  readonly 'group.message_setting': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    /** The settings that the member changed. */
    readonly setting: {
      readonly msg_mute_mode?: number
      readonly msg_push_mode?: number
    }
  }
  readonly 'group.file_uploaded': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly file_id: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'group.file_deleted': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly file_id: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'group.file_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly group_id: number
    /**
     * The version of the group after the event. It grows by one with every event that all members
     * get, except that members join or leave a chatroom.
     */
    readonly version: number
    readonly file_id: number
    /** The name of the shared file. */
    readonly name: string
  }
  readonly 'user.password_changed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'user.frozen': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'user.removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
  }
  readonly 'user.kicked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** Absent: every device. */
    readonly device_sn?: number
  }
  readonly 'user.info_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The fields that changed. */
    readonly properties: readonly string[]
    /** Their new values; empty once the user is deleted. */
    readonly changed: {
      readonly avatar?: string
      readonly description?: string
      readonly email?: string
      readonly mobile?: string
      readonly nick_name?: string
      readonly private_info?: string
      readonly public_info?: string
      readonly username?: string
    }
  }
  readonly 'user.settings_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The settings that were set, as /user/settings names them; or push_tags. */
    readonly properties: readonly string[]
  }
  readonly 'user.identity_linked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly issuer: string
    readonly subject: string
  }
  readonly 'user.identity_unlinked': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly issuer: string
    readonly subject: string
  }
  readonly 'user.device_logged_in': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly device_sn: number
  }
  readonly 'user.device_added': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly device_sn: number
  }
  readonly 'user.device_removed': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly device_sn: number
  }
  readonly 'user.device_updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    readonly device_sn: number
  }
  readonly 'message.stored': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly sender_id: number
    /** The device of the sender; 0 = not known. */
    readonly sender_device_sn: number
    /** The kind of content, as in /message/send. */
    readonly content_type: number
    /** The value as sent, or as last edited. */
    readonly content: string
    /** The value as sent. */
    readonly attachment: string
    /** The value as sent, or as last edited. */
    readonly config: string
    /** The value as sent, or as last edited. */
    readonly ext: string
    /** true: a system notification */
    readonly is_system: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly edit_timestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transaction_id?: string
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
  }
  readonly 'change.skipped': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The position of the message, which counts as present although it is gone. */
    readonly seq?: number
    /** The sender of a recalled message; 0 = the system. */
    readonly sender_id?: number
    /** true: a system notification was recalled */
    readonly is_system?: boolean
  }
  readonly 'message.read': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The newest message up to the position; 0 = none is left. */
    readonly msg_id: number
    /** The position. Marks only grow: the greatest one counts. */
    readonly seq: number
  }
  readonly 'message.recalled': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly sender_id: number
    /** true: a system notification */
    readonly is_system: boolean
    /** When it was recalled, milliseconds since 1970. */
    readonly timestamp: number
  }
  readonly 'message.appended': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly sender_id: number
    /** The device of the sender; 0 = not known. */
    readonly sender_device_sn: number
    /** The kind of content, as in /message/send. */
    readonly content_type: number
    /** The value as sent, or as last edited. */
    readonly content: string
    /** The value as sent. */
    readonly attachment: string
    /** The value as sent, or as last edited. */
    readonly config: string
    /** The value as sent, or as last edited. */
    readonly ext: string
    /** true: a system notification */
    readonly is_system: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly edit_timestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transaction_id?: string
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
  }
  readonly 'message.replaced': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
    /** Position in the conversation, dense from 1. */
    readonly seq: number
    /** The sender; 0 = the system. */
    readonly sender_id: number
    /** The device of the sender; 0 = not known. */
    readonly sender_device_sn: number
    /** The kind of content, as in /message/send. */
    readonly content_type: number
    /** The value as sent, or as last edited. */
    readonly content: string
    /** The value as sent. */
    readonly attachment: string
    /** The value as sent, or as last edited. */
    readonly config: string
    /** The value as sent, or as last edited. */
    readonly ext: string
    /** true: a system notification */
    readonly is_system: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly edit_timestamp: number
    /** The transaction ID of the send, for devices of the sender only; absent without one. */
    readonly transaction_id?: string
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
  }
  readonly 'message.updated': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
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
    }
    /** The reactions that users have added and removed. */
    readonly reacted?: readonly {
      readonly user_id: number
      /** The reaction. */
      readonly key: string
      /** true: added; false: removed */
      readonly on: boolean
    }[]
  }
  readonly 'message.delivered': {
    /** The user who did it; 0 = an administrator or the system. */
    readonly actor_id: number
    /**
     * The users concerned, or those who are notified; empty for an event about a group as a whole.
     * Sessions of others than the actor, members of the group and parties of the conversation find
     * only their own user in it.
     */
    readonly user_ids: readonly number[]
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The newest message up to the position; 0 = none is left. */
    readonly msg_id: number
    /** The position. Marks only grow: the greatest one counts. */
    readonly seq: number
  }
  readonly presence: {
    readonly users: readonly {
      /** user ID */
      readonly user_id: number
      /** a device of the user is connected, or was 10 seconds ago */
      readonly online: boolean
    }[]
  }
  readonly typing: {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    readonly user_id: number
    readonly state: 'typing' | 'nothing'
  }
  readonly 'message.transient': {
    /** The log of a direct conversation, of a group, or of the broadcasts of a sender. */
    readonly conversation: {
      /**
       * The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all
       * users; each has it in the conversation with the sender.
       */
      readonly low_id: number
      /** The party with the greater ID; of a group its ID again. */
      readonly high_id: number
      /** true: both IDs are the group */
      readonly is_group: boolean
    }
    /** The message ID. */
    readonly msg_id: number
    /** The sender; 0 = the system. */
    readonly sender_id: number
    /** The device of the sender; 0 = not known. */
    readonly sender_device_sn: number
    /** The kind of content, as in /message/send. */
    readonly content_type: number
    /** The value as sent, or as last edited. */
    readonly content: string
    /** The value as sent. */
    readonly attachment: string
    /** The value as sent, or as last edited. */
    readonly config: string
    /** The value as sent, or as last edited. */
    readonly ext: string
    /** true: a system notification */
    readonly is_system: boolean
    /** When it was sent, milliseconds since 1970. */
    readonly timestamp: number
    /** When it was edited last; 0 = never. */
    readonly edit_timestamp: number
  }
  readonly 'push.notification': {
    /** for push.received and /push/report */
    readonly task_id: number
    /** cmd: for the app, never displayed */
    readonly kind: 'text' | 'image' | 'cmd'
    /** title; "" for none */
    readonly title: string
    /** text; "" for none */
    readonly body: string
    /** long text in place of body; "" for none */
    readonly big_text: string
    /** URL of an image, audio or video; "" for none */
    readonly attachment_url: string
    /** number to show; absent: the badge stays */
    readonly badge?: number
    /** members for the app */
    readonly ext?: Readonly<Record<string, unknown>>
    /** true: without sound and vibration */
    readonly is_silent: boolean
    /** not to be shown later, milliseconds since 1970 */
    readonly expires_at: number
  }
}
