DROP INDEX "connected_accounts_subject";
ALTER TABLE "connected_accounts" ADD COLUMN "issuer" text;
CREATE UNIQUE INDEX "connected_accounts_subject" ON "connected_accounts" USING btree ("issuer","subject");
