-- expand
CREATE TABLE "open_streams" (
	"credential_id" uuid NOT NULL,
	"connection" text NOT NULL,
	"holder_id" uuid NOT NULL,
	CONSTRAINT "open_streams_credential_id_connection_holder_id_pk" PRIMARY KEY("credential_id","connection","holder_id")
);

CREATE TABLE "stream_holders" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seen_at" timestamp(3) with time zone NOT NULL
);

ALTER TABLE "tasks" ADD COLUMN "last_checkpoint" jsonb;
ALTER TABLE "open_streams" ADD CONSTRAINT "open_streams_holder_id_stream_holders_id_fk" FOREIGN KEY ("holder_id") REFERENCES "public"."stream_holders"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "open_streams_holder" ON "open_streams" USING btree ("holder_id");
