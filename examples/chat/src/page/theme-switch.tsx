import { useState } from 'react'
import { IconButton } from '../ui/icon-button.js'

type Theme = 'light' | 'dark'

/** Switches between light and dark; the page begins with the setting of the system. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(systemTheme)
  const other: Theme = theme === 'dark' ? 'light' : 'dark'
  return (
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Use the ${other} theme`}
      onClick={() => {
        document.documentElement.dataset.theme = other
        setTheme(other)
      }}
    />
  )
}

function systemTheme(): Theme {
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}
