import type { Int64 } from '@hermod/protocol'
import { parseJson } from '../../../lib/json.js'

/** The part of the `config` of a message that the service uses (rule K7). */
export interface MessageConfig {
  /** Members from whom the sender requests read receipts, in groups with read_ack on. */
  readonly groupMemberList: ReadonlySet<Int64>
}

const nothing: MessageConfig = { groupMemberList: new Set() }

/** @param config JSON text; text without the documented form is ignored */
export function configOf(config: string): MessageConfig {
  if (!config.includes('"groupMemberList"')) return nothing
  try {
    const parsed = parseJson(config) as { readonly groupMemberList?: unknown } | null
    return { groupMemberList: new Set(idsOf(parsed?.groupMemberList)) }
  } catch {
    return nothing
  }
}

/** The IDs in a list of numbers or digits; skips all other entries. */
export function idsOf(list: unknown): Int64[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((each: unknown) => {
    if (typeof each === 'bigint' || Number.isSafeInteger(each)) return [each as Int64]
    return typeof each === 'string' && /^\d{1,16}$/.test(each) ? [Number(each)] : []
  })
}
