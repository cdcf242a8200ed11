import { UserName } from '../people/user-name.js'

interface TypingLineProps {
  readonly userIds: readonly number[]
  /** What a bot does, in place of typing. */
  readonly activity?: { readonly userId: number; readonly state: string; readonly text: string }
}

/** The line that says who types, or what a bot does; it keeps its height without a text. */
export function TypingLine({ userIds, activity }: TypingLineProps) {
  const [first = activity?.userId] = userIds
  const more = userIds.length > 1 ? ` and ${userIds.length - 1} more are` : ' is'
  const what = userIds.length > 0 ? 'typing' : `${activity?.state} ${activity?.text}`
  return (
    <p className="typing-line">
      {first !== undefined && (
        <>
          <UserName userId={first} />
          {`${more} ${what}`}
          <span className="typing-dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
        </>
      )}
    </p>
  )
}
