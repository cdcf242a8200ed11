import { AppError, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import { type Clock, runsOutAt } from '../../../lib/clock.js'
import type { PurposeKeys, SecretKeys } from '../../../lib/secrets/secret-keys.js'
import type { AppService } from '../../apps/app-service.js'
import { requireNoRefusal } from '../../item-outcome.js'
import { systemUserId } from '../../users/system-user.js'
import { type GroupAccess, type GroupCaller, refusalOf } from '../core/group-access.js'
import { type Group, roleName } from '../core/group-model.js'
import type { MemberStore } from '../membership/member-store.js'
import type { MembershipService } from '../membership/membership-service.js'
import { type GroupQr, groupQrText, readGroupQrText } from './group-qr.js'

interface GroupQrServiceOptions {
  readonly apps: AppService
  readonly members: MemberStore
  readonly access: GroupAccess
  readonly memberships: MembershipService
  readonly clock: Clock
  readonly secretKeys: SecretKeys
}

/** The text of a QR code and its lifetime in ms. */
export interface SignedGroupQr {
  readonly text: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** QR codes that let users join a group as long as the signer may invite. */
export class GroupQrService {
  readonly #keys: PurposeKeys

  constructor(private readonly options: GroupQrServiceOptions) {
    this.#keys = options.secretKeys.for('group QR texts')
  }

  /** @throws AppError group_not_found, member_required, group_admin_required */
  async sign(caller: GroupCaller, groupId: Int64): Promise<SignedGroupQr> {
    const { access, apps } = this.options
    const { appId, actorId: signerId } = caller
    const createdAt = await access.read(caller, groupId, 'invite', async (_, { now }) => now)
    const { settings } = await apps.get(appId)
    const expiresAt = runsOutAt(createdAt, settings.group_application_days)
    return {
      text: groupQrText(this.#keys.current, { appId, groupId, signerId, expiresAt }),
      createdAt,
      expiresAt,
    }
  }

  /**
   * @returns the group that the user has joined, regardless of its apply_approval
   * @throws AppError qr_code_invalid, qr_code_expired, no_permission for a code of another group
   * than the group_id header's, group_not_found, and the refusals of MembershipService.add
   */
  async join(caller: GroupCaller & { readonly userId: Int64 }, text: string): Promise<Int64> {
    const { access, memberships } = this.options
    const { appId, userId, adminOf } = caller
    const qr = readGroupQrText(this.#keys.accepted, text)
    if (qr?.appId !== appId) throw new AppError('qr_code_invalid')
    if (adminOf !== null && adminOf !== qr.groupId)
      throw new AppError('no_permission', 'header group_id names another group')
    if (qr.expiresAt <= this.options.clock.now()) throw new AppError('qr_code_expired')
    await access.change(caller, qr.groupId, 'join', { userIds: [userId] }, async (tx, context) => {
      if (!(await this.#isBacked(tx, context.group, qr))) throw new AppError('qr_code_invalid')
      requireNoRefusal(await memberships.add(tx, context, [userId], { isOwnWill: true }))
    })
    return qr.groupId
  }

  /** Tests whether the signer may still invite. */
  async #isBacked(tx: Tx, group: Group, { signerId }: GroupQr): Promise<boolean> {
    if (signerId === systemUserId) return true
    const member = await this.options.members.find(tx, group, signerId)
    return (
      member !== null &&
      refusalOf({ group, member, role: roleName(member.role) }, 'invite') === null
    )
  }
}
