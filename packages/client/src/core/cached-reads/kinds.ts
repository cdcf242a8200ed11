/** The kinds of cached reads, and the operation of each. */

/** The operation that reads one kind, and the form of its answer. */
export interface ReadKind {
  readonly op: string
  /** Parameters of a page; `refs` has more than one entry with `batch` only. */
  params?(refs: readonly number[]): object
  /** The member of `data` that is the value, when it is not `data` as a whole. */
  readonly member?: string
  /** Value of what the server refuses as not found or not allowed. */
  readonly empty: null | readonly []
  /** True: the answer has a `cursor`; the value is the list of all pages. */
  readonly isPaged?: boolean
  /**
   * One call reads many refs: the member of each entry that is its ref. The value of a ref is its entry,
   * or with `empty` [] the list of its entries.
   */
  readonly batch?: string
  /** A second call, with the entries of a page, has the entries of the value. */
  more?(ref: number, page: readonly { readonly user_id: number }[]): Second
}

interface Second {
  readonly op: string
  readonly params: object
}

const ofGroup = ([group_id]: readonly number[]) => ({ group_id })

/** By kind; kinds with parameters have a ref in their keys, such as `user.5`. */
export const kinds: Readonly<Record<string, ReadKind>> = {
  // IDs of users.
  contacts: { op: 'contact.list', empty: [], isPaged: true },
  // Any user as the own user sees them: RosterEntry.
  user: { op: 'contact.find', params: (list) => ({ list }), empty: null, batch: 'user_id' },
  // RosterApplication, answered ones included.
  contactRequests: {
    op: 'contact.apply.list',
    params: () => ({ limit: 500 }),
    empty: [],
    isPaged: true,
  },
  // IDs of groups.
  groups: { op: 'group.user_joined', empty: [] },
  // GroupSummary, a GroupRecord with `owner`.
  group: {
    op: 'group.info.batch',
    params: (group_list) => ({ group_list }),
    empty: null,
    batch: 'group_id',
  },
  // GroupMemberInfo.
  members: {
    op: 'group.member_list',
    params: ofGroup,
    empty: [],
    isPaged: true,
    more: (group_id, page) => ({
      op: 'group.members.info',
      params: { group_id, user_list: page.map(({ user_id }) => user_id) },
    }),
  },
  // GroupApplication of one group.
  joinRequests: {
    op: 'group.application_list',
    params: (group_list) => ({ group_list, limit: 500 }),
    empty: [],
    isPaged: true,
    batch: 'group_id',
  },
  // GroupInvitation.
  invitations: {
    op: 'group.invitation_list',
    params: () => ({ limit: 500 }),
    empty: [],
    isPaged: true,
  },
  // IDs of conversations.
  pins: { op: 'user.conversation.pin_list', member: 'conversation_ids', empty: [] },
  profile: { op: 'user.profile.get', empty: null },
  settings: { op: 'user.settings.get', empty: null },
  devices: { op: 'user.device.list', empty: [] },
}

/** Returns the kind and the ref of a key; undefined: no such kind. */
export function parseKey(
  key: string,
): { readonly name: string; readonly kind: ReadKind; readonly ref: number } | undefined {
  const [name = '', ref, ...rest] = key.split('.')
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
  if (!kind || rest.length > 0) return undefined
  const hasRef = ['user', 'group', 'members', 'joinRequests'].includes(name)
  if (!hasRef) return ref === undefined ? { name, kind, ref: 0 } : undefined
  return /^\d{1,16}$/.test(ref ?? '') ? { name, kind, ref: Number(ref) } : undefined
}
