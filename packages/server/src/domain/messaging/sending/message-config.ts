import type { Int64 } from '@hermod/protocol'
import { idsOf } from '../../../lib/ids/int64.js'
import { parseJson } from '../../../lib/json.js'

/** The part of the `config` of a message that the service uses (rule K7). */
export interface MessageConfig {
  /** Members who are requested to send read receipts, in groups with read_ack on. */
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
