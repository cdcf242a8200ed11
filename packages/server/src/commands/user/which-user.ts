import { parseId } from '../runtime/command.js'
import { argument } from '../runtime/fields.js'

/** A user as an argument: a username contains a character that is no digit, so digits are an ID. */
export type Which = { readonly user_id: number } | { readonly username: string }

/** The parameters of a call about one user. */
export function withUserFields<V extends { readonly user: Which }>({ user, ...values }: V) {
  return { ...values, ...user }
}

export function which(input: string): Which {
  return /^\d+$/.test(input) ? { user_id: parseId(input) } : { username: input }
}

/** The application of a command about its users. */
export const app_id = argument('<app_id>', 'the application')

/** The arguments of a command about one user. */
export const userFields = { app_id, user: argument('<user>', 'username or user ID', which) }
