/** A small number; 0 shows nothing. @param of what is counted, for screen readers */
export function Badge({ count, of }: { readonly count: number; readonly of: string }) {
  if (count === 0) return null
  return (
    <span className="badge">
      {count > 99 ? '99+' : count}
      <span className="visually-hidden"> {of}</span>
    </span>
  )
}
