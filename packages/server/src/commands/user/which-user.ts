import { parseId } from '../runtime/command.js'

/** A user as an argument: a username contains a character that is no digit, so digits are an ID. */
export type Which = { readonly user_id: number } | { readonly username: string }

/** The parameters of a call about one user. */
export function withUserFields<V extends { readonly user: Which }>({ user, ...values }: V) {
  return { ...values, ...user }
}

export function which(input: string): Which {
  return /^\d+$/.test(input) ? { user_id: parseId(input) } : { username: input }
}
