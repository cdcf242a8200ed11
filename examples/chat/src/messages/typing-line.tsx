import { useUser } from '@hermod/client/react'

/** The line that says who types; it keeps its height without a text. */
export function TypingLine({ userIds }: { readonly userIds: readonly number[] }) {
  const [first] = userIds
  return (
    <p className="typing-line">
      {first !== undefined && (
        <>
          <Name userId={first} />
          {userIds.length > 1 ? ` and ${userIds.length - 1} more are typing` : ' is typing'}
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

function Name({ userId }: { readonly userId: number }) {
  return useUser(userId)?.name ?? 'A user'
}
