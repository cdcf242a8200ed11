import { isProfileText } from '@hermod/protocol'
import type { JsonObject } from '../../../lib/json.js'
import { nameViolation } from '../../names.js'
import type { UserToMake } from '../../users/registration/user-maker.js'
import type { IssuerSettings } from '../issuers/issuer-model.js'

/** Members of the profile that an assertion sets. */
export interface ClaimedProfile {
  readonly nickName?: string
  readonly avatar?: string
}

/** Returns the valid claims for the profile; an empty text is none. */
export function claimedProfile(
  payload: JsonObject,
  { nickNameClaim, avatarClaim }: Pick<IssuerSettings, 'nickNameClaim' | 'avatarClaim'>,
): ClaimedProfile {
  const nickName = nickNameClaim === '' ? undefined : payload[nickNameClaim]
  const avatar = avatarClaim === '' ? undefined : payload[avatarClaim]
  return {
    ...(nickName !== '' && isNickName(nickName) && { nickName }),
    ...(avatar !== '' && isProfileText('avatar', avatar) && { avatar }),
  }
}

function isNickName(value: unknown): value is string {
  return isProfileText('nick_name', value) && nameViolation(value, 'nick_name') === null
}

/**
 * Returns the user that an assertion makes. Name and address are wishes: another user who has them
 * is never linked.
 */
export function claimedUser(payload: JsonObject, settings: IssuerSettings): UserToMake {
  const { usernameClaim } = settings
  const username = usernameClaim === '' ? undefined : payload[usernameClaim]
  const { email } = payload
  return {
    ...claimedProfile(payload, settings),
    ...(isProfileText('username', username) && { username }),
    usernameIs: 'preferred',
    // Another person may have given an address that is not verified.
    ...(payload.email_verified === true && isProfileText('email', email) && { email }),
    isBot: false,
  }
}
