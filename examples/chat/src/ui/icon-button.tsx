import type { ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './icon.js'

type IconButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children'> & {
  readonly icon: IconName
  /** The name for screen readers, and the tooltip. */
  readonly label: string
}

/** A button that shows an icon only. */
export function IconButton({ icon, label, className = '', ...props }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-label={label}
      title={label}
      {...props}
    >
      <Icon name={icon} />
    </button>
  )
}
