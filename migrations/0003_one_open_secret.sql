DROP INDEX "one_time_secrets_subject";
CREATE UNIQUE INDEX "one_time_secrets_open" ON "one_time_secrets" USING btree ("purpose","subject") WHERE "one_time_secrets"."used_at" is null;
