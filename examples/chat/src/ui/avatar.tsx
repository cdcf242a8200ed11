import { useClient } from '@hermod/client/react'

interface AvatarProps {
  readonly name: string
  /** Address of the picture; '' for none. */
  readonly url: string
  readonly isOnline?: boolean
  readonly size?: 'small' | 'normal'
}

/** The picture of a user or group, or its initials; with a dot for users who are online. */
export function Avatar({ name, url, isOnline = false, size = 'normal' }: AvatarProps) {
  const address = useClient().fileUrl(url, { thumbnail: 96 })
  return (
    <span className={`avatar ${size}`} data-hue={hueOf(name)}>
      {!address ? <span aria-hidden="true">{initials(name)}</span> : <img src={address} alt="" />}
      {isOnline && <span className="presence" role="img" aria-label="online" />}
    </span>
  )
}

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '')
  return words
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase())
    .join('')
}

/** One of six colors, always the same for a name. */
function hueOf(name: string): number {
  return [...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 6
}
