interface Props {
  label: string
  /** The label with the name of the row, for screen readers. */
  name: string
  /** With a border. */
  raised?: boolean
  onClick(): void
}

/** A button that is in every row of a list. */
export const RowButton = ({ label, name, raised, onClick }: Props) => (
  <button type="button" className={raised ? 'btn small' : 'btn small quiet'} aria-label={name} onClick={onClick}>
    {label}
  </button>
)
