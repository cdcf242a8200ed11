import {
  AppError,
  type GroupRightName,
  type Int64,
  meaningsOf,
  muteMode,
  pushMode,
} from '@hermod/protocol'
import { groupProperties } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { requireName } from '../../names.js'
import type { GroupConversations } from '../membership/group-conversations.js'
import type { MemberStore } from '../membership/member-store.js'
import type { GroupAccess, GroupCaller, GroupContext } from './group-access.js'
import type { GroupEvents } from './group-events.js'
import { banEnd, type Group, groupEvent, isBanned, nextUpdate, permanent } from './group-model.js'
import type { GroupStore } from './group-store.js'

interface GroupSettingsServiceOptions {
  readonly access: GroupAccess
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly conversations: Pick<GroupConversations, 'setReception'>
  readonly events: GroupEvents
}

type PropertyValue = string | number | boolean

interface Property {
  readonly right: GroupRightName
  readonly of: (group: Group) => PropertyValue | Int64
}

/**
 * Changeable properties of a group by name on the wire: the right that each needs, and its present
 * value.
 */
const properties = {
  name: { right: 'modify', of: ({ name }) => name },
  avatar: { right: 'modify', of: ({ avatar }) => avatar },
  description: { right: 'modify', of: ({ description }) => description },
  ext: { right: 'modify', of: ({ ext }) => ext },
  hide_member_info: { right: 'settings', of: ({ flags }) => flags.hide_member_info },
  history_visible: { right: 'settings', of: ({ flags }) => flags.history_visible },
  member_invite: { right: 'settings', of: ({ flags }) => flags.member_invite },
  member_modify: { right: 'settings', of: ({ flags }) => flags.member_modify },
  read_ack: { right: 'settings', of: ({ flags }) => flags.read_ack },
  apply_approval: { right: 'settings', of: ({ applyApproval }) => applyApproval },
  ban_expire_time: { right: 'settings', of: ({ banExpiresAt }) => banExpiresAt },
  capacity: { right: 'capacity', of: ({ capacity }) => capacity },
} as const satisfies Record<Exclude<keyof typeof groupProperties, 'display_name'>, Property>

type PropertyName = keyof typeof properties
/** Properties that accept any value of their type. */
export type PlainProperty = Exclude<PropertyName, 'ban_expire_time' | 'capacity'>

/** A caller who acts for a user and changes that user's own settings. */
type UserCaller = GroupCaller & { readonly userId: Int64 }

/** A setting of a member, by its name on the wire. */
type OwnSetting = { readonly msg_mute_mode: number } | { readonly msg_push_mode: number }

/** Settings of groups, and of single members. Setting the present value changes nothing. */
export class GroupSettingsService {
  constructor(private readonly options: GroupSettingsServiceOptions) {}

  /**
   * @throws AppError invalid_parameter for a name, group_not_found, and the refusal of the right
   */
  async set(
    caller: GroupCaller,
    groupId: Int64,
    property: PlainProperty,
    value: PropertyValue,
  ): Promise<void> {
    if (property === 'name') requireName(String(value), property)
    await this.#change(caller, groupId, property, (tx, context) =>
      this.#write(tx, context, property, value),
    )
  }

  /** @throws AppError group_not_found, group_owner_required, capacity_invalid */
  async setCapacity(caller: GroupCaller, groupId: Int64, capacity: Int64): Promise<void> {
    await this.#change(caller, groupId, 'capacity', async (tx, context) => {
      const { group_capacity_limit: most } = await readAppSettings(tx, caller.appId)
      if (capacity < context.group.memberCount || capacity > most)
        throw new AppError('capacity_invalid')
      await this.#write(tx, context, 'capacity', Number(capacity))
    })
  }

  /**
   * Stops all members except the owner and admins from sending (rule F5); replaces an earlier ban.
   * @returns the end of the ban in seconds, rounded up; -1 = permanent
   * @throws AppError invalid_parameter naming duration; group_not_found, group_admin_required
   */
  async ban(caller: GroupCaller, groupId: Int64, minutes: Int64): Promise<number> {
    const lengthMs = banEnd(minutes, 0)
    return this.#change(caller, groupId, 'ban_expire_time', async (tx, context) => {
      const end = lengthMs === permanent ? permanent : Math.ceil((context.now + lengthMs) / 1_000)
      await this.#write(tx, context, 'ban_expire_time', end)
      return end
    })
  }

  /** @throws AppError group_not_found, group_admin_required */
  async unban(caller: GroupCaller, groupId: Int64): Promise<void> {
    await this.#change(caller, groupId, 'ban_expire_time', async (tx, context) => {
      if (isBanned(context.group.banExpiresAt, context.now / 1_000))
        await this.#write(tx, context, 'ban_expire_time', 0)
    })
  }

  /** @throws AppError invalid_parameter, group_not_found, not_group_member */
  async setDisplayName(caller: UserCaller, groupId: Int64, name: string): Promise<void> {
    const { access, groups, members } = this.options
    requireName(name, 'value')
    await access.change(caller, groupId, 'own', {}, async (tx, context) => {
      const { group, member, now } = context
      if (member?.displayName === name) return
      await members.update(tx, group, [caller.userId], { display_name: name })
      await groups.touch(
        tx,
        group,
        member && isBanned(member.banExpiresAt, now) ? ['members', 'bans'] : ['members'],
        now,
      )
      await this.#appendChange(tx, context, [caller.userId], {
        property: 'display_name',
        value: name,
      })
    })
  }

  /** @throws AppError push_mode_out_of_range; group_not_found, not_group_member */
  async setPushMode(caller: UserCaller, groupId: Int64, mode: number): Promise<void> {
    if (!(mode in meaningsOf(pushMode))) throw new AppError('push_mode_out_of_range')
    await this.options.access.change(caller, groupId, 'own', {}, async (tx, { group, member }) => {
      if (member?.pushMode !== mode)
        await this.#writeOwn(tx, caller, group, { msg_push_mode: mode })
    })
  }

  /** @throws AppError group_not_found, not_group_member */
  async setMuteMode(caller: UserCaller, groupId: Int64, mode: number): Promise<void> {
    const { access, conversations, events } = this.options
    await access.change(caller, groupId, 'own', {}, async (tx, { group, member }) => {
      const before = member?.muteMode
      if (before === mode) return
      const isAboutReceiving = [before, mode].includes(muteMode.notReceived)
      const key = { appId: group.appId, groupId, userId: caller.userId }
      if (isAboutReceiving) await conversations.setReception(tx, key, mode !== muteMode.notReceived)
      await this.#writeOwn(tx, caller, group, { msg_mute_mode: mode })
      if (before !== muteMode.none && mode !== muteMode.none) return
      events.append(
        tx,
        group,
        groupEvent(group, mode === muteMode.none ? 'unmuted' : 'muted', caller.actorId, [
          caller.userId,
        ]),
      )
    })
  }

  #change<T>(
    caller: GroupCaller,
    groupId: Int64,
    property: PropertyName,
    work: (tx: Tx, context: GroupContext) => Promise<T>,
  ): Promise<T> {
    return this.options.access.change(caller, groupId, properties[property].right, {}, work)
  }

  async #write(
    tx: Tx,
    context: GroupContext,
    property: PropertyName,
    value: PropertyValue,
  ): Promise<void> {
    const { group, now } = context
    if (properties[property].of(group) === value) return
    const column = property === 'ban_expire_time' ? 'ban_expires_at' : property
    const stored = typeof value === 'boolean' ? Number(value) : value
    const updated_at = nextUpdate(group, now)
    await this.options.groups.update(tx, group, { [column]: stored, updated_at })
    await this.#appendChange(tx, context, [], { property, value, updated_at })
  }

  /** The event says whether the value is hidden from ordinary members now (rule F9). */
  async #appendChange(
    tx: Tx,
    { caller, group }: GroupContext,
    userIds: readonly Int64[],
    change: {
      readonly property: keyof typeof groupProperties
      readonly value: PropertyValue
      readonly updated_at?: number
    },
  ): Promise<void> {
    const isHidden =
      groupProperties[change.property] === 'hideable' &&
      group.flags.hide_member_info &&
      (await readAppSettings(tx, group.appId)).hide_member_info
    const details = isHidden ? { ...change, is_hidden: true } : change
    const event = groupEvent(group, 'info_updated', caller.actorId, userIds, details)
    this.options.events.append(tx, group, event)
  }

  async #writeOwn(tx: Tx, caller: UserCaller, group: Group, setting: OwnSetting): Promise<void> {
    const { members, events } = this.options
    await members.update(tx, group, [caller.userId], setting)
    events.append(
      tx,
      group,
      groupEvent(group, 'message_setting', caller.actorId, [caller.userId], {
        setting,
      }),
    )
  }
}
