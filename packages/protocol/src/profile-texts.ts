/** Texts of profiles that come from elsewhere than the parameters of a call. */
import { avatar, email, nickName, username } from './operations/fields.js'
import type { TSchema } from './schema.js'

const fields = { avatar, email, nick_name: nickName, username } as const satisfies Record<
  string,
  TSchema
>

/** Tests whether a value is a text that keeps the schema of a field of the profile. */
export function isProfileText(field: keyof typeof fields, value: unknown): value is string {
  if (typeof value !== 'string' || value.includes('\0')) return false
  const { minLength = 0, maxLength = 0, pattern = '' } = fields[field]
  const { length } = [...value]
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(value)
}
