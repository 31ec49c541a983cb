/** Draws a component again only when a property has another identity. */

import { Component, type ComponentChildren, h, type FunctionComponent } from 'preact'

export function memo<Props extends object>(draw: (props: Props) => ComponentChildren): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = Object.keys(next) as (keyof Props)[]
      return names.some((name) => next[name] !== this.props[name])
    }
    override render(props: Props): ComponentChildren {
      return h(draw as FunctionComponent<Props>, props)
    }
  }
  return Memo as unknown as FunctionComponent<Props>
}
