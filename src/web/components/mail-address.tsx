/** An e-mail address that breaks before its @ where it does not fit. */
export function MailAddress({ of }: { of: string }) {
  const at = of.lastIndexOf('@')
  return (
    <>
      {of.slice(0, Math.max(at, 0))}
      <wbr />
      {of.slice(Math.max(at, 0))}
    </>
  )
}
